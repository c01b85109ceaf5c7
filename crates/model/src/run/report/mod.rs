//! What is said: one `Report`, drawn as text, JSON, CSV or Markdown.
//!
//! The answer comes first, then what to do, the table, the causes, the doubts, and last the
//! circumstances. All renderings draw the same report, so that none says more than another.

use crate::run::compare::Table;
use crate::run::findings::Finding;
use crate::run::record::Record;

pub mod advice;

mod answer;
mod blocks;
mod cells;
mod csv;
mod failures;
mod json;
mod markdown;
mod notes;
mod requests;
mod rows;
mod section;
mod service;
mod text;
mod trials;
mod typical;

pub use csv::render_csv;
pub use json::{FORMAT, render_json};
pub use markdown::render_markdown;
pub use text::render_text;
pub use trials::render_trials;

pub(crate) use notes::count_marks;
pub(crate) use rows::{effect_of, label_of};

/// Everything that a rendering may say.
#[derive(Clone, Debug)]
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
        }
    }

    /// The report of two experiments against each other: `table` compares each policy of
    /// `other` with the same policy of `record`.
    #[must_use]
    pub fn between(record: &'a Record, other: Other<'a>, table: Table) -> Self {
        Self {
            record_path: Some(other.names.join(", ")),
            other: Some(other),
            ..Self::new(record, table, Vec::new(), None)
        }
    }

    /// What is said first: one sentence for each policy that was compared.
    #[must_use]
    pub fn answers(&self) -> Vec<String> {
        answer::answers(self)
    }
}

/// The second of two records that are compared.
#[derive(Clone, Debug)]
pub struct Other<'a> {
    /// What was done and seen.
    pub record: &'a Record,
    /// What the first and the second are called, for example their files.
    pub names: [String; 2],
}
