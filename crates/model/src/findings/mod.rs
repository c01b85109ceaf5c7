//! Why: rules that recognise a cause from the record, or say that they cannot.
//!
//! One file per rule. Each opens with what it claims, its evidence, and what would refute it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::compare::Table;
use crate::record::Record;

pub mod medians;

/// What a rule says of one experiment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Finding {
    /// Name of the rule.
    pub id: String,
    /// Policy it speaks of, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// What came out.
    pub outcome: Outcome,
    /// One sentence for people, with the figures in it.
    pub text: String,
    /// The figures, by name.
    pub evidence: Map<String, Value>,
}

/// What came out of a rule.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The evidence is there.
    Shown,
    /// The evidence was looked for and is not there.
    NotShown,
    /// The evidence could not be read.
    CannotTell,
}

/// A cause that can be recognised.
pub trait Rule: Sync {
    /// Its name, in kebab case.
    fn id(&self) -> &'static str;
    /// What it claims, its evidence, and what would refute it: a paragraph for people.
    fn explain(&self) -> &'static str;
    /// What it says of one experiment: one finding for each policy that it has something to
    /// say about, or one for the whole.
    fn check(&self, record: &Record, table: &Table) -> Vec<Finding>;
}
