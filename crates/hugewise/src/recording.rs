//! Recordings: every event as a line of a file, and back.

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

/// Where events go: into the analysis, and into a file where one was named.
pub struct Sink<A> {
    /// What adds them up.
    pub analysis: A,
    file: Option<BufWriter<File>>,
    for_page: PageLines,
    /// The first trouble with the file; the report is made all the same.
    trouble: Option<std::io::Error>,
}

impl<A: Recorded> Sink<A> {
    /// Begins with an analysis, and the file that `--out` names.
    pub fn new(analysis: A, path: Option<&Path>, for_page: PageLines) -> Result<Self> {
        let file = path.map(|path| output::create("--out", path)).transpose()?;
        Ok(Self {
            analysis,
            file: file.map(|file| BufWriter::with_capacity(1 << 20, file)),
            for_page,
            trouble: None,
        })
    }

    /// Takes the next event in.
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

    /// Ends the file; what was added up, and the lines for a page.
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

/// The lines of a recording for a page: none where no page is wanted, and not many more than a
/// page may hold.
#[derive(Debug, Default)]
pub struct PageLines {
    bytes: Option<Vec<u8>>,
}

impl PageLines {
    /// None yet; they are wanted where a file for the page was named.
    pub fn of(page: &PageFile) -> Self {
        Self {
            bytes: page.html.is_some().then(Vec::new),
        }
    }

    fn is_wanted(&self) -> bool {
        self.bytes.is_some()
    }

    /// Takes the next line in.
    pub fn push(&mut self, line: &[u8]) {
        if let Some(bytes) = &mut self.bytes
            && bytes.len() <= MOST_BYTES
        {
            bytes.extend_from_slice(line);
        }
    }

    /// What the page holds.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }
}

/// Goes through a recording as if it were live.
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

/// The names of places in files, as events which a replay then finds in the recording.
pub fn names(places: BTreeMap<String, BTreeSet<u64>>) -> impl Iterator<Item = faults::Event> {
    let symbols = Symbols::default();
    places.into_iter().flat_map(move |(file, offsets)| {
        let offsets: Vec<u64> = offsets.into_iter().collect();
        let rights = invoker::rights();
        // The file is what the program had mapped, and may be another by now.
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
