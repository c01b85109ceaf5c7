//! Which metrics of a fleet are better low or high, and which guard it.

use crate::run::metric::Better;

/// Metrics that a unit must not pay with, however the verdict is: more of them is harm.
pub const GUARDRAILS: [&str; 3] = [
    "oom_kills_per_second",
    "memory_waiting_full_ratio",
    "refused_huge_faults_per_second",
];

const LOWER: [&str; 7] = [
    "anon_bytes",
    "compaction_stalls_per_second",
    "major_faults_per_second",
    "memory_waiting_some_ratio",
    "p99_seconds",
    "reclaim_stalls_per_second",
    "reclaimed_pages_per_second",
];
const HIGHER: [&str; 1] = ["available_bytes"];

/// The metric that decides where none is named, if there are rows of it.
pub const FIRST: &str = "p99_seconds";

/// Which direction of a metric is good, by its name; of unknown names none is.
#[must_use]
pub fn better(metric: &str) -> Better {
    match metric {
        _ if LOWER.contains(&metric) || GUARDRAILS.contains(&metric) => Better::Lower,
        _ if HIGHER.contains(&metric) => Better::Higher,
        _ => Better::Neither,
    }
}
