//! Files for other programs.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Result;
use clap::Args;
use hugewise_experiment::run::report::Export;
use hugewise_text::suggest::nearest;

use super::PageFile;
use crate::exit;
use crate::output::check_writable;

/// Flags of `run` and `report` that write a result in the format of another program.
#[derive(Clone, Debug, Default, Args)]
pub struct Exports {
    /// Also write the result for another program, e.g. junit=FILE
    ///
    /// benchfmt (benchstat), hyperfine, google-benchmark, pyperf, bencher, github-action, junit,
    /// ktap, otlp, csv-long, parquet. Repeat for more.
    #[arg(
        hide_short_help = true,
        long = "export",
        value_name = "FORMAT=FILE",
        help_heading = "Output"
    )]
    pub files: Vec<ExportFile>,

    /// The HTML page.
    #[command(flatten)]
    pub page: PageFile,
}

impl Exports {
    /// Checks that the files can be written, before anything is measured.
    pub fn check(&self) -> Result<()> {
        self.page.check()?;
        for file in &self.files {
            file.format
                .check()
                .map_err(|error| exit::usage(format!("--export parquet: {error}")))?;
            check_writable("--export", Some(&file.path))?;
        }
        Ok(())
    }
}

/// An export format and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFile {
    /// The format.
    pub format: Export,
    /// The file.
    pub path: PathBuf,
}

impl FromStr for ExportFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, path) = text
            .split_once('=')
            .filter(|(_, path)| !path.is_empty())
            .ok_or_else(|| format!("`{text}` names no file; write junit=FILE"))?;
        let format = word.parse().map_err(|_| {
            let near = nearest(word, Export::names());
            let hint = near.map_or_else(
                || {
                    format!(
                        "there are {}",
                        Export::names().collect::<Vec<_>>().join(", ")
                    )
                },
                |near| format!("did you mean {near}?"),
            );
            format!("there is no format `{word}`; {hint}")
        })?;
        Ok(Self {
            format,
            path: path.into(),
        })
    }
}
