//! The report of an experiment, drawn as a document, JSON or CSV.
//!
//! The answer comes first, then what to set, the table, the causes and the circumstances.

use std::cell::OnceCell;

use crate::base::table;
use crate::run::compare::{ControlOutcome, Starts, Table};
use crate::run::findings::Finding;
use crate::run::policy::Policy;
use crate::run::record::Record;
use crate::text::Verbosity;
use crate::text::csv;
use crate::text::document::{Document, Level};
use crate::text::figure::Figure;
use crate::text::wrap::plain;

pub mod advice;
mod history;

mod answer;
mod arms;
mod blocks;
mod change;
mod circumstances;
mod conclusion;
mod control;
mod document;
mod doubt;
mod equals;
mod export;
mod failures;
mod figures;
mod interval;
mod json;
mod long;
mod names;
mod notes;
mod page;
pub(crate) mod pages;
mod programs;
mod requests;
mod rows;
mod screen;
mod section;
mod service;
mod starts;
mod trials;
mod typical;

use advice::more_reach;
pub use conclusion::{Conclusion, HugePages};
pub use doubt::Doubt;
pub use export::{Export, program_name};
pub use json::FORMAT;
use names::Names;
pub use trials::trials;

/// Everything that a rendering may say.
#[derive(Debug)]
pub struct Report<'a> {
    /// What was done and seen.
    pub record: &'a Record,
    /// The second record, where two are compared. What one record alone can say is then said
    /// of the first; doubts are those of both.
    pub other: Option<Other<'a>>,
    /// What differs.
    pub table: Table,
    /// Why.
    pub findings: Vec<Finding>,
    /// Where the record lies, as it is shown to the user.
    pub record_path: Option<String>,
    /// The word that names the record in a command, where that is shorter than its path.
    word: Option<String>,
    /// What earlier records of the same experiment say: together with this one in a line, and in another
    /// those on other host memory.
    together: Vec<String>,
    /// The program's own setting that may reach pages which no policy did.
    own_setting: Option<Policy>,
    /// Who makes the program and keeps huge pages from it, as `Redis (vendor, 2020-10-27)`.
    against: Option<String>,
    /// Of a bench: what is drawn of its cells.
    pub cells: Option<Box<dyn CellView + 'a>>,
    /// Whether it stands beside those of other programs, and has little room.
    is_part: bool,
    /// What many parts of it ask for, and thousands of trials take long to tell.
    known: Known,
}

/// What was worked out of a report.
#[derive(Debug, Default)]
struct Known {
    conclusion: OnceCell<Option<Conclusion>>,
    shown_with_more_than_pages: OnceCell<Option<String>>,
    names: OnceCell<Names>,
    starts: OnceCell<Vec<Starts>>,
}

/// The cells of a bench, as its report shows them. The spine knows that a trial may have cells;
/// what they mean is known to [`bench`](crate::bench).
pub trait CellView: std::fmt::Debug {
    /// The rows of the table.
    fn rows(&self) -> Vec<CellRow>;
    /// Which pages lay under the cells of a policy; `None` where nobody could look.
    fn proof(&self, record: &Record, policy: &str) -> Option<String>;
    /// What a policy changes in the cells whose pages it changes: a sentence.
    fn answer(&self, table: &Table, policy: &str) -> Option<String>;
    /// What the table leaves out and what its numbers count. Conclusions are left out where two
    /// records are compared.
    fn legend(&self, conclusions: Conclusions) -> Vec<String>;
    /// The curves, as lines of text.
    fn drawings(&self) -> Vec<Vec<String>>;
    /// The curves, as pictures.
    fn figures(&self) -> Vec<Figure>;
    /// What only programs are given: a key and its value.
    fn json(&self) -> Option<(&'static str, serde_json::Value)>;
}

/// Whether a legend says what follows from the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusions {
    /// It does.
    Stated,
    /// It does not.
    LeftOut,
}

/// A row of a bench.
#[derive(Clone, Debug)]
pub struct CellRow {
    /// Name of the reading.
    pub metric: String,
    /// What the row is called.
    pub label: String,
    /// Whether it is on the first screen.
    pub level: Level,
}

impl<'a> Report<'a> {
    /// The report of one experiment.
    #[must_use]
    pub fn new(
        record: &'a Record,
        table: Table,
        findings: Vec<Finding>,
        record_path: Option<String>,
    ) -> Self {
        Self {
            record,
            other: None,
            table,
            findings,
            record_path,
            word: None,
            together: Vec::new(),
            own_setting: None,
            against: None,
            cells: None,
            is_part: false,
            known: Known::default(),
        }
    }

    /// The report of two experiments against each other: `table` compares each policy of
    /// `other` with the same policy of `record`.
    #[must_use]
    pub fn between(record: &'a Record, other: Other<'a>, table: Table) -> Self {
        Self {
            record_path: Some(other.paths.join(", ")),
            other: Some(other),
            ..Self::new(record, table, Vec::new(), None)
        }
    }

    /// The same with the word that names the record in a command.
    #[must_use]
    pub fn called(self, word: Option<String>) -> Self {
        Self { word, ..self }
    }

    /// The same with what earlier records say of the policy of the answer.
    #[must_use]
    pub fn beside_earlier(self, together: impl Fn(&str) -> Vec<String>) -> Self {
        let policy = self.conclusion().and_then(|it| it.policy);
        Self {
            together: policy.map_or_else(Vec::new, |policy| together(&policy)),
            ..self
        }
    }

    /// The same with what the program itself can be told, where no policy could be tried. `find` takes
    /// the program's name.
    #[must_use]
    pub fn with_own_setting(self, find: impl Fn(&str) -> Option<Policy>) -> Self {
        let conclusion = self.conclusion();
        let is_open = conclusion.is_some_and(|it| it.huge_pages == HugePages::NotTried);
        let find = || more_reach::own_setting(self.record, find);
        Self {
            own_setting: is_open.then(find).flatten(),
            ..self
        }
    }

    /// The same with who makes the program and keeps huge pages from it, where a policy is recommended. `find` takes the
    /// program's name.
    #[must_use]
    pub fn with_objection(self, find: impl Fn(&str) -> Option<String>) -> Self {
        let verdict = &self.table.verdict;
        let best = verdict.best.as_ref();
        let chosen = best.filter(|best| **best != verdict.baseline);
        Self {
            against: chosen.and_then(|_| find(program_name(self.record))),
            ..self
        }
    }

    /// What names the record in a command: its word, else its path.
    fn word(&self) -> Option<&str> {
        self.word.as_deref().or(self.record_path.as_deref())
    }

    /// The same with what is drawn of the cells of a bench.
    #[must_use]
    pub fn with_cells(self, cells: Option<Box<dyn CellView + 'a>>) -> Self {
        Self { cells, ..self }
    }

    /// Whether it is about several programs.
    fn compares_programs(&self) -> bool {
        self.other.is_none() && !self.record.header.plan.programs.is_empty()
    }

    /// The lines below the table of a bench.
    fn cell_legend(&self, section: &section::Section<'_>) -> Vec<String> {
        let Some(cells) = &self.cells else {
            return Vec::new();
        };
        let columns = section.columns.iter();
        let proofs = columns.filter_map(|column| {
            let pages = cells.proof(column.record, column.policy)?;
            Some(format!("Pages under {}: {pages}.", plain(column.name)))
        });
        let conclusions = match self.other {
            Some(_) => Conclusions::LeftOut,
            None => Conclusions::Stated,
        };
        proofs.chain(cells.legend(conclusions)).collect()
    }

    /// The curves of a bench.
    fn drawings(&self) -> Vec<Vec<String>> {
        let cells = self.cells.as_ref().filter(|_| self.other.is_none());
        cells.map_or_else(Vec::new, |cells| cells.drawings())
    }

    /// Whether huge pages help; `None` where no policy is about them, for two records, several
    /// programs and a bench.
    #[must_use]
    pub fn conclusion(&self) -> Option<Conclusion> {
        conclusion::conclude(self)
    }

    /// What the control shows; `None` where none was run.
    #[must_use]
    pub fn control(&self) -> Option<ControlOutcome> {
        control::outcome(self)
    }

    /// What keeps a pipeline from resting on the result.
    #[must_use]
    pub fn doubts(&self) -> Vec<Doubt> {
        doubt::doubts(self)
    }

    /// The answer, sentence by sentence.
    #[must_use]
    pub fn answers(&self) -> Vec<String> {
        answer::answers(self)
    }

    /// The report for people, its tables laid out for so many columns of text. What only those see
    /// who ask for details may be absent for others.
    #[must_use]
    pub fn document(&self, width: usize, verbosity: Verbosity) -> Document {
        match self.compares_programs() {
            true => programs::document(self, width),
            false => document::document(self, width, verbosity),
        }
    }

    /// The pictures of it, each with its numbers; only those that the record has something for.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        figures::figures(self)
    }

    /// The report as one HTML file; `record` is the bytes of the record's file, which it holds.
    /// Where that file lies and what lies beside it are left out, so that the same record gives the
    /// same page.
    #[must_use]
    pub fn page(self, record: &[u8]) -> String {
        let nowhere = Self {
            record_path: None,
            word: None,
            together: Vec::new(),
            ..self
        };
        page::page(&nowhere, nowhere.figures(), record)
    }

    /// One row per trial and metric, in long form: a trial that printed many values of a metric
    /// has a row for each of them.
    #[must_use]
    pub fn long_form(&self) -> table::Table {
        long::table(self)
    }

    /// That table as CSV.
    #[must_use]
    pub fn csv(&self) -> String {
        csv::of_table(&self.long_form())
    }

    /// The whole report as one JSON object. Numbers are finite: what is not known is `null` or
    /// absent.
    #[must_use]
    pub fn json(&self) -> String {
        json::json(self)
    }
}

/// The second of two records that are compared.
#[derive(Clone, Debug)]
pub struct Other<'a> {
    /// What was done and seen.
    pub record: &'a Record,
    /// The files of the first and the second.
    pub paths: [String; 2],
}

/// What the two records are called in the report: their paths are too long for columns.
const BEFORE_AND_AFTER: [&str; 2] = ["before", "after"];
