//! The switched memory of a running process.

use serde::Serialize;

use crate::run::plan::Skipped;

/// The switched memory, and how `live` switched it. The effect concerns memory in use: it includes no faults, no
/// zeroing and no added memory.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Switchback {
    /// The processes; empty if the program was started for the experiment.
    pub pids: Vec<u32>,
    /// Starts of the program with a whole round; zero for processes that ran before.
    pub starts: u32,
    /// Periods that the end of a start cut.
    pub cut: u32,
    /// The source of the count of work.
    pub source: String,
    /// Switched bytes.
    pub switched_bytes: f64,
    /// Their share of the resident memory.
    pub share: Option<f64>,
    /// Bytes among them that were already huge before the experiment.
    pub found_huge_bytes: f64,
    /// Bytes left out to save time.
    pub left_out_bytes: f64,
    /// Blocks that `live` cannot switch, by reason.
    pub skipped: Vec<Skipped>,
    /// Seconds of a period.
    pub period_seconds: f64,
    /// Seconds between a switch and its period.
    pub settle_seconds: f64,
    /// Median seconds of a switch under each policy, the baseline first.
    pub switch_seconds: Vec<f64>,
    /// The longest call of all switches, in seconds.
    pub longest_call_seconds: Option<f64>,
    /// Number of placebo switches: there and back.
    pub shams: u32,
    /// Periods that lost some of their pages.
    pub lapses: u32,
    /// The smallest huge share of the switched memory in a period of huge pages.
    pub least_huge: Option<f64>,
    /// The largest huge share in a period of small pages.
    pub most_huge: Option<f64>,
}
