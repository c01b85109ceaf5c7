//! A trial of a service second by second, as the record keeps it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::missing::Missing;

/// A stall shorter than this is not kept by itself, in nanoseconds: what a request loses by it
/// is within what scheduling and the network take.
pub const LONG_NS: u64 = 100_000;

/// One trial, second by second. In the record.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// In order and without gaps, from the moment when the load was released.
    pub seconds: Vec<Second>,
    /// Stalls that were long enough to be kept by themselves, by metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub long_stalls: BTreeMap<String, u64>,
    /// Whether the slowest requests lay in such stalls, or why that cannot be told.
    pub slowest: Slowest,
}

/// About a second of a trial: a second in which looking was dear is a longer one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Second {
    /// Its end, in seconds since the load was released; it begins where the one before ends.
    pub to_seconds: f64,
    /// Minor faults of the service's tree in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// Resident memory of the tree's processes, without hugetlb: of one at the end of the second,
    /// of several when that was last looked at in it, what they share counted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_bytes: Option<u64>,
    /// What of their memory was mapped huge when that was last looked at in this second:
    /// anonymous, shared, of files, and hugetlb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_bytes: Option<u64>,
    /// Time in the kernel's slow paths by metric, of those that ended in this second.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stalls: BTreeMap<String, f64>,
    /// The requests that ended in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
}

impl Second {
    /// Makes the second reach over the one that follows it.
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
    /// How many.
    pub count: u64,
    /// Half of them took no longer.
    pub p50_seconds: f64,
    /// 99 in a hundred took no longer.
    pub p99_seconds: f64,
    /// The longest.
    pub max_seconds: f64,
    /// The time that they are of, where it is not the second but that of a log's intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_seconds: Option<f64>,
}

/// The slowest requests against the stalls of one trial.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Slowest {
    /// They were held against each other.
    Held(Held),
    /// They could not be.
    CannotTell(Unrelated),
}

impl Default for Slowest {
    fn default() -> Self {
        Self::CannotTell(Unrelated::NotAsked)
    }
}

/// How many of the slowest thousandth of a trial's requests lay in a stall, at least in part.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// All requests that have a time.
    pub requests: u64,
    /// Of these at least one overlapped with a stall of any cause.
    pub in_stall: u64,
    /// The slowest thousandth, and as many more as were as slow as the last of it.
    pub slow: u64,
    /// How long the shortest of the slow ones took.
    pub slow_from_seconds: f64,
    /// Slow ones that overlapped with a stall.
    pub slow_in_stall: u64,
    /// The same by the metric of the stall; one request may be in several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub slow_by_cause: BTreeMap<String, u64>,
    /// What `slow_in_stall` would be with the stalls turned by each of many equal steps around
    /// the trial, not turned among them: pairs of a number and how often it came.
    pub turned: Vec<(u64, u64)>,
}

/// Why slow requests were not held against stalls.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Unrelated {
    /// No latencies were asked for.
    NotAsked,
    /// The latencies could not be read.
    Unread,
    /// The source has no time of each request.
    NoTimes {
        /// Who sends the requests.
        source: String,
    },
    /// The times of requests could not be read, though their latencies were.
    Unreadable {
        /// Line and field.
        error: String,
    },
    /// The source counts requests together, for longer than a second.
    LongIntervals {
        /// The longest of its intervals, in milliseconds.
        longest_ms: u64,
    },
    /// No stall is timed here.
    NotTraced {
        /// Why.
        missing: Missing,
    },
    /// Requests have times outside the trial: they are of another clock.
    OtherClock {
        /// How many of them.
        outside: u64,
        /// All.
        requests: u64,
    },
    /// The machine's clock was set while the trial ran.
    ClockSet,
    /// The kernel had no room for some stalls.
    StallsLost {
        /// How many.
        lost: u64,
    },
    /// So many requests took equally long that no thousandth is the slowest.
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
