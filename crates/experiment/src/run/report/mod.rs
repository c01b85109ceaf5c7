//! The report of an experiment: its answer, drawn as a document, JSON, CSV or a page.

use std::cell::OnceCell;

use crate::base::table;
use crate::run::answer::{Answer, Beside, Source, answer, document};
use crate::run::compare::Table;
use crate::run::policy::Policy;
use crate::run::record::Record;
use crate::text::Verbosity;
use crate::text::csv;
use crate::text::document::{Block, Document, Section};
use crate::text::figure::Figure;

mod arms;
mod export;
mod figures;
mod json;
mod long;
mod page;
mod trials;

pub use crate::run::answer::{CellRow, CellView};
pub use export::Export;
pub use json::FORMAT;
pub use trials::trials;

/// The report of one record, or of two.
#[derive(Debug)]
pub struct Report<'a> {
    /// The record; of two, the earlier.
    pub record: &'a Record,
    /// The second of two compared records.
    pub other: Option<Other<'a>>,
    /// The comparisons.
    pub table: Table,
    /// The cells of a bench.
    pub cells: Option<Box<dyn CellView + 'a>>,
    beside: Beside,
    answer: OnceCell<Answer>,
}

impl<'a> Report<'a> {
    /// Creates the report of one record; `path` names its file.
    #[must_use]
    pub fn new(record: &'a Record, table: Table, path: Option<String>) -> Self {
        Self {
            record,
            other: None,
            table,
            cells: None,
            beside: Beside {
                paths: path.into_iter().collect(),
                ..Beside::default()
            },
            answer: OnceCell::new(),
        }
    }

    /// Creates the report of two records: `table` compares each policy of `other` with the same policy of `record`.
    #[must_use]
    pub fn between(record: &'a Record, other: Other<'a>, table: Table) -> Self {
        let sides = other.sides.clone();
        let firsts = sides.iter().filter_map(|side| side.first().cloned());
        let report = Self::new(record, table, None);
        Self {
            other: Some(other),
            beside: Beside {
                paths: firsts.collect(),
                sides,
                ..Beside::default()
            },
            ..report
        }
    }

    /// Sets the word for the record in commands, such as `last`.
    #[must_use]
    pub fn called(self, word: Option<String>) -> Self {
        self.beside(|beside| beside.word = word)
    }

    /// Adds the results of earlier records for the policy of the answer.
    #[must_use]
    pub fn beside_earlier(self, earlier: impl Fn(&str) -> Vec<String>) -> Self {
        let id = self.answer().headline.first().copied();
        let arm = id.map(|id| self.answer().claim(id).contrast.arm.clone());
        self.beside(|beside| beside.earlier = arm.map_or_else(Vec::new, |arm| earlier(&arm)))
    }

    /// Adds the program's own setting, which `find` looks up by the program's name.
    #[must_use]
    pub fn with_own_setting(self, find: impl Fn(&str) -> Option<Policy>) -> Self {
        let own = find(self.program());
        self.beside(|beside| beside.own_setting = own)
    }

    /// Adds the vendor that advises against huge pages, which `find` looks up by the program's name.
    #[must_use]
    pub fn with_objection(self, find: impl Fn(&str) -> Option<String>) -> Self {
        let objection = find(self.program());
        self.beside(|beside| beside.objection = objection)
    }

    /// Adds the cells of a bench.
    #[must_use]
    pub fn with_cells(self, cells: Option<Box<dyn CellView + 'a>>) -> Self {
        Self { cells, ..self }
    }

    fn beside(mut self, change: impl FnOnce(&mut Beside)) -> Self {
        change(&mut self.beside);
        self.answer.take();
        self
    }

    fn program(&self) -> &str {
        crate::run::answer::program_name(self.record)
    }

    /// Returns the answer, computed once.
    #[must_use]
    pub fn answer(&self) -> &Answer {
        self.answer.get_or_init(|| {
            answer(&Source {
                record: self.record,
                table: &self.table,
                other: self.other.as_ref().map(|other| other.record),
                cells: self.cells.as_deref(),
                beside: &self.beside,
            })
        })
    }

    /// Draws the report for users, with tables for the given number of text columns.
    #[must_use]
    pub fn document(&self, width: usize, verbosity: Verbosity) -> Document {
        let mut document = document(self.answer(), width, verbosity);
        if let Some(cells) = self.cells.as_ref().filter(|_| self.other.is_none()) {
            let drawings = cells.drawings().into_iter();
            let drawings =
                drawings.map(|lines| Section::default().with_detail(Block::Lines(lines)));
            document.sections.extend(drawings);
            document.push(Section::default().with_detail(Block::Notes(cells.legend())));
        }
        document
    }

    /// Returns the pictures for which the record has data, each with its numbers.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        figures::figures(self)
    }

    /// Draws the report as one HTML file with `record`, the bytes of the record's file. The path of that file is left
    /// out, so that the same record gives the same page.
    #[must_use]
    pub fn page(self, record: &[u8]) -> String {
        let nowhere = self.beside(|beside| {
            beside.paths.clear();
            beside.word = None;
            beside.earlier.clear();
        });
        page::page(&nowhere, nowhere.figures(), record)
    }

    /// Returns one row per trial and metric; a trial with many values of a metric has a row for each.
    #[must_use]
    pub fn long_form(&self) -> table::Table {
        long::table(self)
    }

    /// Returns that table as CSV.
    #[must_use]
    pub fn csv(&self) -> String {
        csv::of_table(&self.long_form())
    }

    /// Returns the report as one JSON object.
    #[must_use]
    pub fn json(&self) -> String {
        json::json(self)
    }
}

/// The second of two compared records, or the first of several.
#[derive(Clone, Debug)]
pub struct Other<'a> {
    /// The record.
    pub record: &'a Record,
    /// The files of each side.
    pub sides: [Vec<String>; 2],
}
