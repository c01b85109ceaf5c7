//! The memory that was switched in a running process.

use serde::Serialize;

use crate::run::plan::Skipped;

/// The memory that was switched, and how. The effect is that of pages of memory that is there: faults, zeroing and
/// memory that huge pages add are no part of it.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Switchback {
    /// The processes.
    pub pids: Vec<u32>,
    /// The source of the count of work.
    pub source: String,
    /// Bytes that were switched.
    pub switched_bytes: f64,
    /// The part of the resident memory that they are.
    pub share: Option<f64>,
    /// Bytes of them that were huge when the experiment began.
    pub found_huge_bytes: f64,
    /// Bytes that could be switched and were left out to save time.
    pub left_out_bytes: f64,
    /// Blocks that were not switched, by reason.
    pub skipped: Vec<Skipped>,
    /// Seconds of a period.
    pub period_seconds: f64,
    /// Seconds between a switch and its period.
    pub settle_seconds: f64,
    /// Median seconds of a switch under each policy, the baseline first.
    pub switch_seconds: Vec<f64>,
    /// The longest call of all switches, in seconds.
    pub longest_call_seconds: Option<f64>,
    /// Sham switches: there and back.
    pub shams: u32,
    /// Periods that lost some of their pages.
    pub lapses: u32,
    /// The smallest share of the switched memory that was huge in a period of huge pages.
    pub least_huge: Option<f64>,
    /// The largest share of it that was huge in a period of small pages.
    pub most_huge: Option<f64>,
}
