//! `--output keep`: the output of each trial, in files next to the record.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use hugewise_linux::collect::TrialObservation;
use hugewise_linux::file::folder::Folder;

use crate::invoker;

/// The folder of one experiment's output, held open.
#[derive(Debug)]
pub struct TrialOutput {
    folder: Folder,
}

impl TrialOutput {
    /// Makes the folder: the record's name with `.output` instead of `.jsonl`.
    pub fn beside(record: &Path) -> Result<Self> {
        let folder = record.with_extension("output");
        let made = Folder::make(&folder, &invoker::rights()?);
        let folder = made
            .with_context(|| format!("making {} for the output of the trials", folder.display()))?;
        Ok(Self { folder })
    }

    /// Writes the output of one trial, under its number in the record: stdout (the last 16 MiB) and the end of stderr
    /// (4 KiB). For a trial with a server these are the load's, plus the server's log (the last 16 MiB).
    pub fn write(&self, index: u32, observed: &TrialObservation) -> Result<()> {
        let streams = [
            ("stdout", &observed.output),
            ("stderr", &observed.stderr_tail),
        ];
        let log = observed.served.as_ref().map(|it| ("service", &it.log));
        for (what, bytes) in streams.into_iter().chain(log) {
            let name = format!("{index:04}.{what}");
            // The trial may have created a file with this name.
            let _ = self.folder.remove(&name);
            let written = self
                .folder
                .create(&name)
                .and_then(|mut file| file.write_all(bytes));
            written
                .with_context(|| format!("writing {}", self.folder.path().join(name).display()))?;
        }
        Ok(())
    }
}
