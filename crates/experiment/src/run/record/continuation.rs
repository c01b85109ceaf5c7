//! Rounds added to a record later.

use serde::{Deserialize, Serialize};

use crate::run::plan::Bounds;

/// Added rounds.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Continuation {
    /// The first of these rounds.
    pub round: u32,
    /// Name and version of the program.
    pub program: String,
    /// The command line.
    pub made_by: Vec<String>,
    /// When, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// The boot of the machine, in the same form as in the host.
    pub boot_id: String,
    /// When it ends; rounds count from the first of the record.
    pub bounds: Bounds,
}
