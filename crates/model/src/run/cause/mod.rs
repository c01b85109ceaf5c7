//! Causes: why an effect is there, or why there is none.

use serde::Serialize;

/// One cause, as far as the record shows it.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Cause {
    /// The policy that it is about; `None` for the whole experiment.
    pub arm: Option<String>,
    /// What came out.
    pub outcome: Outcome,
}

/// What came out of looking for a cause.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The evidence is there.
    Shown,
    /// The evidence could not be read.
    CannotTell,
    /// The evidence was looked for and is not there.
    NotShown,
}
