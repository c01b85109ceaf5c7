//! A trial of a service second by second, as stored in the record.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::missing::Missing;

/// Shorter stalls are not listed individually, in nanoseconds: their effect on a request is within the noise of
/// scheduling and the network.
pub const LONG_NS: u64 = 100_000;

/// One trial, second by second. In the record.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// In order and without gaps, from the moment when the load was released.
    pub seconds: Vec<Second>,
    /// Stalls long enough to be listed individually, by metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub long_stalls: BTreeMap<String, u64>,
    /// Did the slowest requests occur in such stalls? Otherwise why this is unknown.
    pub slowest: Slowest,
}

/// About a second of a trial: longer if sampling was expensive.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Second {
    /// Its end, in seconds since the load was released; it begins at the end of the previous one.
    pub to_seconds: f64,
    /// Minor faults of the service's tree in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// Resident memory of the tree's processes, without hugetlb. For one process, at the end of the second; for
    /// several, at their last sample in it, with shared memory counted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_bytes: Option<u64>,
    /// Huge-mapped memory at the last sample in this second: anonymous, shared, file-backed, and hugetlb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_bytes: Option<u64>,
    /// Time in the kernel's slow paths by metric, for stalls that ended in this second.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stalls: BTreeMap<String, f64>,
    /// The requests that ended in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
}

impl Second {
    /// Merges the next second into this one.
    pub fn absorb(&mut self, later: Self) {
        self.to_seconds = later.to_seconds;
        let faults = self.minor_faults.zip(later.minor_faults);
        self.minor_faults = faults.map(|(one, more)| one.saturating_add(more));
        self.resident_bytes = later.resident_bytes.or(self.resident_bytes);
        self.huge_bytes = later.huge_bytes.or(self.huge_bytes);
        for (metric, seconds) in later.stalls {
            *self.stalls.entry(metric).or_default() += seconds;
        }
    }
}

/// The requests that ended in one second; times in seconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// The count.
    pub count: u64,
    /// Median duration.
    pub p50_seconds: f64,
    /// 99th percentile of the duration.
    pub p99_seconds: f64,
    /// The longest.
    pub max_seconds: f64,
    /// The length of the log's intervals, if it differs from the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_seconds: Option<f64>,
}

/// The slowest requests compared with the stalls of one trial.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Slowest {
    /// They were compared.
    Held(Held),
    /// They could not be compared.
    CannotTell(Unrelated),
}

impl Default for Slowest {
    fn default() -> Self {
        Self::CannotTell(Unrelated::NotAsked)
    }
}

/// How many of the slowest thousandth of a trial's requests overlapped with a stall.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// Number of requests with a time.
    pub requests: u64,
    /// Number of those that overlapped with a stall of any cause.
    pub in_stall: u64,
    /// The slowest thousandth, with all ties of its fastest member.
    pub slow: u64,
    /// Duration of the shortest of the slow ones.
    pub slow_from_seconds: f64,
    /// Slow ones that overlapped with a stall.
    pub slow_in_stall: u64,
    /// The same by the metric of the stall; one request may be in several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub slow_by_cause: BTreeMap<String, u64>,
    /// The null distribution of `slow_in_stall`: the stalls are rotated around the trial in many equal steps. Pairs of
    /// a value and its count; the unrotated value is excluded.
    pub turned: Vec<(u64, u64)>,
}

/// Why slow requests were not compared with stalls.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Unrelated {
    /// No latencies were requested.
    NotAsked,
    /// The latencies could not be read.
    Unread,
    /// The source has no individual times of requests.
    NoTimes {
        /// The source of the requests.
        source: String,
    },
    /// The times of requests could not be read, though their latencies were.
    Unreadable {
        /// Line and field.
        error: String,
    },
    /// The source aggregates requests over more than a second.
    LongIntervals {
        /// The longest of its intervals, in milliseconds.
        longest_ms: u64,
    },
    /// Stalls are not timed here.
    NotTraced {
        /// Why.
        missing: Missing,
    },
    /// Requests have times outside the trial: they come from another clock.
    OtherClock {
        /// The count of these.
        outside: u64,
        /// The total.
        requests: u64,
    },
    /// The machine's clock was set while the trial ran.
    ClockSet,
    /// The kernel dropped some stalls for lack of space.
    StallsLost {
        /// How many.
        lost: u64,
    },
    /// Too many requests took equally long to single out the slowest thousandth.
    Coarse,
}

impl fmt::Display for Unrelated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => write!(f, "no --latency was given"),
            Self::Unread => write!(f, "the latencies could not be read"),
            Self::NoTimes { source } => write!(
                f,
                "{source} gives no times of single requests; pgbench-log does, csv:COLUMN and \
                 jsonl:FIELD with `,began=` or `,ended=`"
            ),
            Self::Unreadable { error } => {
                write!(f, "the times of requests could not be read: {error}")
            }
            Self::LongIntervals { longest_ms } => write!(
                f,
                "the log counts requests together for up to {} s, so that no second has its own; \
                 let it be written once a second",
                *longest_ms as f64 / 1e3
            ),
            Self::NotTraced { missing } => write!(f, "no stall was timed: {missing}"),
            Self::OtherClock { outside, requests } => write!(
                f,
                "{outside} of {requests} requests have times outside the trial; they must count \
                 from 1970 (UTC)"
            ),
            Self::ClockSet => write!(f, "the clock was set while the trial ran"),
            Self::StallsLost { lost } => {
                write!(f, "there were more stalls than are kept, by {lost}")
            }
            Self::Coarse => write!(
                f,
                "more than a hundredth of the requests took equally long, so none is the slowest"
            ),
        }
    }
}
