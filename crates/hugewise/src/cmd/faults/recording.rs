//! Recordings: every event as a line of a file, and back.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use hugewise_model::fault::{self, Analysis, Event, Fault};

use crate::exit;

/// Where events go: into the analysis, and into a file where one was named.
pub(super) struct Sink {
    pub(super) analysis: Analysis,
    recording: Option<Recording>,
}

struct Recording {
    file: BufWriter<File>,
    /// The first trouble; what was seen is reported all the same.
    trouble: Option<std::io::Error>,
}

impl Sink {
    pub(super) fn new(analysis: Analysis, path: Option<&Path>) -> Result<Self> {
        let recording = path.map(|path| {
            let file = File::create(path).map_err(|error| {
                exit::usage(format!(
                    "--out {}: {error}; name a file in a folder where you may write",
                    path.display()
                ))
            })?;
            anyhow::Ok(Recording {
                file: BufWriter::with_capacity(1 << 20, file),
                trouble: None,
            })
        });
        Ok(Self {
            analysis,
            recording: recording.transpose()?,
        })
    }

    pub(super) fn push(&mut self, event: &Event) {
        self.analysis.push(event);
        if let Some(recording) = &mut self.recording
            && recording.trouble.is_none()
        {
            recording.trouble = write(&mut recording.file, event).err();
        }
    }

    /// Ends the file.
    pub(super) fn finish(self) -> Result<Analysis> {
        if let Some(mut recording) = self.recording {
            recording
                .trouble
                .map_or_else(|| recording.file.flush(), Err)
                .context("writing the recording")?;
        }
        Ok(self.analysis)
    }
}

fn write(file: &mut impl Write, event: &Event) -> std::io::Result<()> {
    serde_json::to_writer(&mut *file, event)?;
    file.write_all(b"\n")
}

/// Goes through a recording as if it were live.
pub(super) fn replay(path: &Path) -> Result<Analysis> {
    let trouble =
        |error: std::io::Error| exit::usage(format!("--replay {}: {error}", path.display()));
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(trouble)?);
    let wrong = |fault: Fault| exit::usage(format!("{}: {fault}", path.display()));
    let mut line = Vec::new();
    let mut analysis = None;
    for number in 1.. {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(trouble)? == 0 {
            break;
        }
        if !line.ends_with(b"\n") {
            return Err(wrong(Fault::CutShort));
        }
        let event = fault::read(number, line.trim_ascii_end()).map_err(wrong)?;
        match (&mut analysis, &event) {
            (None, Event::Begin(conditions)) => {
                analysis = Some(Analysis::new((**conditions).clone()));
            }
            (Some(analysis), _) => analysis.push(&event),
            (None, _) => return Err(wrong(Fault::NotARecording)),
        }
    }
    analysis.ok_or_else(|| wrong(Fault::NotARecording))
}
