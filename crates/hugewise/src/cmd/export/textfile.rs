//! The file that the textfile collector of `node_exporter` reads.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use hugewise_model::observe::export::exposition::Format;

use super::Exporter;
use crate::interrupt::Interrupt;

/// The collector reads files that end so, and no others.
const NAME: &str = "hugewise.prom";

/// Writes the file once. It appears whole: a reader sees the old one or the new one.
pub(super) fn write(folder: &Path, exporter: &Exporter) -> Result<()> {
    let (file, new) = (folder.join(NAME), folder.join(format!("{NAME}.new")));
    let text = exporter.text(Format::Prometheus);
    fs::write(&new, text).with_context(|| format!("--textfile: writing {}", new.display()))?;
    fs::rename(&new, &file).with_context(|| format!("--textfile: renaming to {}", file.display()))
}

/// Writes it again and again until a signal comes, and then takes it away: values that nobody
/// renews would look like those of a quiet machine.
pub(super) fn keep(
    folder: &Path,
    interval: Duration,
    exporter: &Exporter,
    interrupt: &Interrupt,
) -> Result<()> {
    while !interrupt.asked() {
        write(folder, exporter)?;
        interrupt.wait(interval);
    }
    let file = folder.join(NAME);
    fs::remove_file(&file).with_context(|| format!("--textfile: removing {}", file.display()))
}
