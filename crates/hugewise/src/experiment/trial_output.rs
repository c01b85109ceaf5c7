//! `--output keep`: what each trial printed, in files beside the record.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hugewise_linux::collect::TrialObservation;

/// The folder of one experiment's output.
#[derive(Clone, Debug)]
pub struct TrialOutput {
    folder: PathBuf,
}

impl TrialOutput {
    /// Makes the folder: the record's name with `.output` instead of `.jsonl`.
    pub fn beside(record: &Path) -> Result<Self> {
        let folder = record.with_extension("output");
        fs::create_dir(&folder)
            .with_context(|| format!("making {} for the output of the trials", folder.display()))?;
        Ok(Self { folder })
    }

    /// Writes what one trial printed, under its number in the record: stdout (the last 16 MiB)
    /// and the end of stderr (4 KiB); of a trial with a server those of the load, and the
    /// server's log (the last 16 MiB).
    pub fn write(&self, index: u32, observed: &TrialObservation) -> Result<()> {
        let streams = [
            ("stdout", &observed.output),
            ("stderr", &observed.stderr_tail),
        ];
        let log = observed.served.as_ref().map(|it| ("service", &it.log));
        for (what, bytes) in streams.into_iter().chain(log) {
            let path = self.folder.join(format!("{index:04}.{what}"));
            fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }
}
