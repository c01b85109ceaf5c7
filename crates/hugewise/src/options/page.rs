//! The HTML page of a report.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::output::{check_writable, write_file};

/// The flag of every verb whose report can be written as an HTML page.
#[derive(Clone, Debug, Default, Args)]
pub struct PageFile {
    /// Also write the report as one HTML page
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
}

impl PageFile {
    /// Checks that the page can be written, before anything is measured.
    pub fn check(&self) -> Result<()> {
        check_writable("--html", self.html.as_deref())
    }

    /// Writes the page if the user asked for it.
    pub fn write(&self, page: impl FnOnce() -> Result<String>) -> Result<()> {
        match &self.html {
            Some(path) => write_file(path, &page()?),
            None => Ok(()),
        }
    }
}
