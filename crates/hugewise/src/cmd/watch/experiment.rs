//! The running or the last experiment: its report so far.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use hugewise_base::units::rough;
use hugewise_experiment::run::compare;
use hugewise_experiment::run::record::Record;
use hugewise_monitor::watch::SMALLEST;
use hugewise_text::document::{Document, Paragraph, Section};
use hugewise_text::number::counted;
use hugewise_text::wrap::short_command;
use hugewise_text::{Tone, Verbosity};

use super::looking::sentence;
use crate::experiment::{cells, recorder, records};
use crate::paths;

/// Columns of the report: those of the smallest terminal that the screen supports.
const COLUMNS: usize = SMALLEST.0 as usize;

/// The newest record, read again when it has grown.
#[derive(Debug, Default)]
pub(super) struct Experiment {
    read: Option<(PathBuf, u64)>,
}

impl Experiment {
    /// The report of the newest record; `None` if it has not changed.
    pub(super) fn news(&mut self) -> Option<Document> {
        match self.read_on() {
            Ok(news) => news,
            Err(error) => Some(sentence(&format!("{error:#}."))),
        }
    }

    fn read_on(&mut self) -> Result<Option<Document>> {
        let Some(path) = records::in_folder(&paths::records()?).into_iter().next() else {
            let text = "There is no record yet. To make one: hugewise run -- COMMAND";
            return Ok(Some(sentence(text)));
        };
        let metadata = path.metadata().context("looking at the newest record")?;
        let now = Some((path.clone(), metadata.len()));
        if self.read == now {
            return Ok(None);
        }
        let record = recorder::read_found(&path)?;
        let age = SystemTime::now().duration_since(metadata.modified()?);
        let document = document(&record, &path, age.unwrap_or_default())?;
        self.read = now;
        Ok(Some(document))
    }
}

/// The progress, and the report so far.
fn document(record: &Record, path: &Path, age: Duration) -> Result<Document> {
    let command = short_command(&record.header.plan.command, 60);
    let rounds = counted(record.rounds_run().into(), "round");
    let most = record.header.plan.bounds.max_rounds;
    let state = match record.end {
        None => format!("`{command}`: {rounds} of at most {most} are done."),
        Some(_) => format!("`{command}`: ended after {rounds}."),
    };
    let mut section = Section::default().with(Paragraph::new(state).tone(Tone::Strong));
    if record.end.is_none() {
        let age = rough(age);
        section.push(Paragraph::new(format!(
            "The last trial ended {age} ago. Let it run, whatever this shows: it stops by itself \
             once the answer is decided."
        )));
    }
    let mut document = Document::new([section]);
    let table = compare::table(record, &compare::Options::default())?;
    let report =
        cells::report(record, table, Some(path.display().to_string())).called(records::word(path));
    document
        .sections
        .extend(report.document(COLUMNS, Verbosity::Verbose).sections);
    Ok(document)
}
