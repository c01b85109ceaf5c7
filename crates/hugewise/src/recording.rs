//! Recordings: writes every event as one line of a file, and replays the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};
use hugewise_base::jsonl::{Line, LineError, RawLine, to_line};
use hugewise_base::recording::Recorded;
use hugewise_linux::perf::symbols::Symbols;
use hugewise_observe::faults;
use hugewise_text::page::MOST_BYTES;

use crate::options::PageFile;
use crate::{exit, file, invoker, output};

/// The consumer of events: the analysis, and a file if the user named one.
pub struct Sink<A> {
    /// The analysis that accumulates them.
    pub analysis: A,
    file: Option<BufWriter<File>>,
    for_page: PageLines,
    /// The first error of the file; the report is written anyway.
    trouble: Option<std::io::Error>,
}

impl<A: Recorded> Sink<A> {
    /// Starts with an analysis and the file that `--out` names.
    pub fn new(analysis: A, path: Option<&Path>, for_page: PageLines) -> Result<Self> {
        let file = path.map(|path| output::create("--out", path)).transpose()?;
        Ok(Self {
            analysis,
            file: file.map(|file| BufWriter::with_capacity(1 << 20, file)),
            for_page,
            trouble: None,
        })
    }

    /// Consumes the next event.
    pub fn push(&mut self, event: &A::Event) {
        self.analysis.push(event);
        if self.file.is_none() && !self.for_page.is_wanted() {
            return;
        }
        let line = to_line(event);
        self.for_page.push(line.as_bytes());
        if let (Some(file), None) = (&mut self.file, &self.trouble) {
            self.trouble = file.write_all(line.as_bytes()).err();
        }
    }

    /// Closes the file; returns the analysis and the lines for a page.
    pub fn finish(self) -> Result<(A, PageLines)> {
        let written = match (self.trouble, self.file) {
            (Some(trouble), _) => Err(trouble),
            (None, Some(mut file)) => file.flush(),
            (None, None) => Ok(()),
        };
        written.context("writing the recording")?;
        Ok((self.analysis, self.for_page))
    }
}

/// The lines of a recording for a page: empty if no page is wanted, and not much longer than a page may be.
#[derive(Debug, Default)]
pub struct PageLines {
    bytes: Option<Vec<u8>>,
}

impl PageLines {
    /// Starts empty; collects lines only if the user named a file for the page.
    pub fn of(page: &PageFile) -> Self {
        Self {
            bytes: page.html.is_some().then(Vec::new),
        }
    }

    fn is_wanted(&self) -> bool {
        self.bytes.is_some()
    }

    /// Adds the next line.
    pub fn push(&mut self, line: &[u8]) {
        if let Some(bytes) = &mut self.bytes
            && bytes.len() <= MOST_BYTES
        {
            bytes.extend_from_slice(line);
        }
    }

    /// The collected lines.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }
}

/// Replays a recording as if it were live.
pub fn replay<A: Recorded>(path: &Path, mut for_page: PageLines) -> Result<(A, PageLines)> {
    let trouble = |error: std::io::Error| wrong(path, &error);
    let mut file = file::open_recording(path).map_err(trouble)?;
    let mut line = Vec::new();
    let mut analysis: Option<A> = None;
    for number in 1.. {
        let read = file::read_line(&mut file, &mut line).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => wrong(path, &format_args!("line {number}: {error}")),
            _ => trouble(error),
        });
        if read? == 0 {
            break;
        }
        if !line.ends_with(b"\n") {
            return Err(wrong(path, &LineError::CutShort));
        }
        for_page.push(&line);
        let raw = RawLine {
            number,
            bytes: line.trim_ascii_end(),
            ended: true,
        };
        let event = raw
            .read::<A::Event>()
            .map_err(|error| wrong(path, &error))?;
        let event = event.ok_or_else(|| wrong(path, &LineError::CutShort))?;
        match &mut analysis {
            None => analysis = A::begin(&event),
            Some(analysis) => analysis.push(&event),
        }
    }
    let writer = <A::Event as Line>::WRITER;
    let analysis = analysis.ok_or_else(|| wrong(path, &LineError::Empty { writer }))?;
    Ok((analysis, for_page))
}

fn wrong(path: &Path, what: &dyn std::fmt::Display) -> anyhow::Error {
    exit::usage(format!("--replay {}: {what}", path.display()))
}

/// The symbol names of file offsets, as events that a later replay reads from the recording.
pub fn names(places: BTreeMap<String, BTreeSet<u64>>) -> impl Iterator<Item = faults::Event> {
    let symbols = Symbols::default();
    places.into_iter().flat_map(move |(file, offsets)| {
        let offsets: Vec<u64> = offsets.into_iter().collect();
        let rights = invoker::rights();
        // The program had mapped this path; another file may have replaced it since.
        let named = rights.map(|rights| rights.lend(|| Ok(symbols.look_up(&file, &offsets))));
        let names = named.ok().and_then(Result::ok).unwrap_or_default();
        let names = names.into_iter().chain(std::iter::repeat_with(Vec::new));
        let named = offsets.into_iter().zip(names);
        named.map(move |(offset, frames)| faults::Event::Symbol {
            file: file.clone(),
            offset,
            frames,
        })
    })
}
