//! The file for the textfile collector of `node_exporter`.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use hugewise_linux::file::folder::Folder;
use hugewise_monitor::export::exposition::{Family, Format, text};

use super::sampler::Sampler;
use crate::interrupt::Interrupt;
use crate::{exit, invoker};

/// The collector reads only files with this extension.
const NAME: &str = "hugewise.prom";

/// The collector runs as another user.
const MODE: u32 = 0o644;

/// The file in its folder, which may belong to another user.
#[derive(Debug)]
pub(super) struct TextFile {
    folder: Folder,
}

impl TextFile {
    /// Opens the folder, and removes the leftovers of a killed exporter.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let opened = Folder::open(folder, &invoker::rights()?);
        let folder = opened
            .map_err(|error| exit::usage(format!("--textfile {}: {error}", folder.display())))?;
        folder.sweep(NAME);
        Ok(Self { folder })
    }

    /// Writes the file once, atomically: a reader sees the old one or the new one.
    pub(super) fn write(&self, families: &[Family]) -> Result<()> {
        let text = text(families, Format::Prometheus);
        let written = self.folder.replace(NAME, text.as_bytes(), MODE);
        written.with_context(|| format!("--textfile: writing {}", self.place()))
    }

    /// Writes it repeatedly until a signal comes, and then removes it: stale values would look like those of a quiet
    /// machine.
    pub(super) fn keep(
        &self,
        interval: Duration,
        sampler: &Sampler,
        interrupt: &Interrupt,
    ) -> Result<()> {
        while !interrupt.asked() {
            self.write(&sampler.families_or_signal(interrupt))?;
            interrupt.wait(interval);
        }
        let removed = self.folder.remove(NAME);
        removed.with_context(|| format!("--textfile: removing {}", self.place()))
    }

    fn place(&self) -> String {
        self.folder.path().join(NAME).display().to_string()
    }
}
