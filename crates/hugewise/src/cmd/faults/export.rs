//! Writes call chains in the formats of other programs.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Result;
use hugewise_observe::faults::{Analysis, Weigh};

use crate::output::{check_writable, write_file};

/// A profile for another program: its format and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProfileFile {
    format: Format,
    path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Firefox,
    Pprof,
}

impl ProfileFile {
    /// Checks that the file can be written.
    pub(super) fn check(&self) -> Result<()> {
        check_writable("--export", Some(&self.path))
    }

    /// Writes the profile, if the end of the watched program is known.
    pub(super) fn write(&self, analysis: &Analysis, weigh: Weigh) -> Result<()> {
        let profile = match self.format {
            Format::Firefox => analysis.firefox(weigh).map(String::into_bytes),
            Format::Pprof => analysis.pprof(weigh),
        };
        let Some(profile) = profile else {
            return Ok(());
        };
        write_file(&self.path, profile)
    }
}

impl FromStr for ProfileFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, path) = text
            .split_once('=')
            .filter(|(_, path)| !path.is_empty())
            .ok_or_else(|| format!("`{text}` names no file; write pprof=FILE or firefox=FILE"))?;
        let format = match word {
            "firefox" => Format::Firefox,
            "pprof" => Format::Pprof,
            _ => {
                return Err(format!(
                    "there is no format `{word}`; there are pprof, firefox"
                ));
            }
        };
        Ok(Self {
            format,
            path: path.into(),
        })
    }
}
