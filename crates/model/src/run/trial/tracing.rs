//! What tracing a tree of processes did to its memory.

use serde::{Deserialize, Serialize};

/// What the tracer did to one tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tracing {
    /// Ranges that were advised.
    pub ranges: u64,
    /// Their bytes of address space.
    pub bytes: u64,
    /// Calls at which a thread was stopped.
    pub stops: u64,
    /// Ranges for which the kernel refused the advice.
    pub refused: u64,
    /// What it could not reach, and why: a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beyond: Vec<String>,
}
