//! The file of `--record`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use hugewise_base::jsonl::to_line;
use hugewise_monitor::watch::{Header, Line, Sample};

use crate::output;

/// The file for samples, if the user named one.
#[derive(Debug)]
pub(super) struct Recorder(Option<BufWriter<File>>);

impl Recorder {
    /// Creates the file, unless it holds a record.
    pub(super) fn begin(path: Option<&Path>) -> Result<Self> {
        output::check_writable("--record", path)?;
        let file = path.map(|path| output::create("--record", path));
        Ok(Self(file.transpose()?.map(BufWriter::new)))
    }

    /// Writes the first line.
    pub(super) fn header(&mut self, header: &Header) -> Result<()> {
        self.line(|| Line::Header(Box::new(header.clone())))
    }

    /// Writes one sample, complete before the next one.
    pub(super) fn sample(&mut self, sample: &Sample) -> Result<()> {
        self.line(|| Line::Sample(Box::new(sample.clone())))
    }

    fn line(&mut self, line: impl FnOnce() -> Line) -> Result<()> {
        let Some(file) = &mut self.0 else {
            return Ok(());
        };
        file.write_all(to_line(&line()).as_bytes())
            .and_then(|()| file.flush())
            .context("writing the file of --record")
    }
}
