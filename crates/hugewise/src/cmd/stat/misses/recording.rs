//! Recordings of misses: every event as a line of a file, and back.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use hugewise_model::miss::{self, Analysis, Event, Fault, Own};

use super::{fault, show};
use crate::cli::Output;
use crate::exit::{self, Exit};

/// Where events go: into the analysis, and into a file where one was named.
pub(super) struct Sink {
    pub(super) analysis: Analysis,
    file: Option<BufWriter<File>>,
    /// The first trouble with the file; what was seen is reported all the same.
    trouble: Option<std::io::Error>,
}

impl Sink {
    pub(super) fn new(analysis: Analysis, path: Option<&Path>) -> Result<Self> {
        let create = |path: &Path| {
            File::create(path).map_err(|error| {
                exit::usage(format!(
                    "--out {}: {error}; name a file in a folder where you may write",
                    path.display()
                ))
            })
        };
        Ok(Self {
            analysis,
            file: path.map(create).transpose()?.map(BufWriter::new),
            trouble: None,
        })
    }

    pub(super) fn push(&mut self, event: &Event) {
        self.analysis.push(event);
        if let (Some(file), None) = (&mut self.file, &self.trouble) {
            self.trouble = write(file, event).err();
        }
    }

    /// Ends the file.
    pub(super) fn finish(self) -> Result<Analysis> {
        let written = match (self.trouble, self.file) {
            (Some(trouble), _) => Err(trouble),
            (None, Some(mut file)) => file.flush(),
            (None, None) => Ok(()),
        };
        written.context("writing the recording")?;
        Ok(self.analysis)
    }
}

fn write(file: &mut impl Write, event: &Event) -> std::io::Result<()> {
    serde_json::to_writer(&mut *file, event)?;
    file.write_all(b"\n")
}

/// Whether a file is a recording of misses; one that cannot be read is none.
pub(in crate::cmd::stat) fn is_recording(path: &Path) -> bool {
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| BufReader::new(file).read_until(b'\n', &mut first));
    read.is_ok() && miss::is_recording(&first)
}

/// Draws a recording.
pub(in crate::cmd::stat) fn replay(path: &Path, output: &Output) -> Result<Exit> {
    let file = File::open(path).map_err(|error| fault(path, error))?;
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut line = Vec::new();
    let mut analysis = None;
    for number in 1.. {
        line.clear();
        let read = file.read_until(b'\n', &mut line);
        if read.map_err(|error| fault(path, error))? == 0 {
            break;
        }
        if !line.ends_with(b"\n") {
            return Err(fault(path, Fault::CutShort));
        }
        let event = miss::read(number, line.trim_ascii_end()).map_err(|what| fault(path, what))?;
        match (&mut analysis, &event) {
            (None, Event::Own(Own::Sampling(conditions))) => {
                analysis = Some(Analysis::new((**conditions).clone()));
            }
            (Some(analysis), _) => analysis.push(&event),
            (None, _) => return Err(fault(path, Fault::NotARecording)),
        }
    }
    let analysis = analysis.ok_or_else(|| fault(path, Fault::NotARecording))?;
    show(&analysis, output)?;
    Ok(Exit::Done)
}
