//! Rounds that are added to a record later.

use serde::{Deserialize, Serialize};

use super::Record;
use crate::run::plan::Bounds;

/// Rounds that are added.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Continuation {
    /// The first round of them.
    pub round: u32,
    /// Name and version of the program.
    pub program: String,
    /// The command line.
    pub made_by: Vec<String>,
    /// When, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// The boot of the machine, as that of its host.
    pub boot_id: String,
    /// When it ends; rounds count from the first of the record.
    pub bounds: Bounds,
}

impl Record {
    /// When rounds were added, one sentence each.
    #[must_use]
    pub fn continuations_in_words(&self) -> Vec<String> {
        let mut boot = &self.header.host.boot_id;
        let mut began = self.header.created_unix_ms;
        let mut lines = Vec::new();
        for it in &self.continuations {
            let minutes = it.started_unix_ms.saturating_sub(began) / 60_000;
            let later = match minutes {
                0..120 => format!("{minutes} min later"),
                120..2880 => format!("{} h later", minutes / 60),
                _ => format!("{} days later", minutes / 1440),
            };
            let booted = if it.boot_id == *boot {
                ""
            } else {
                ", after a reboot"
            };
            lines.push(format!(
                "Rounds from {} on were added {later}{booted}.",
                it.round + 1
            ));
            (boot, began) = (&it.boot_id, it.started_unix_ms);
        }
        lines
    }
}
