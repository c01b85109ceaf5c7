//! Where the kernel stalls: what can be traced, and what was seen.
//!
//! To add a mechanism of tracing, add an `Attachment` here, its programs to `latency.bpf.c`, its attempt to `bpf/ladder.rs`,
//! and its attachment to `probe/attach.rs`; then run `cargo xtask bpf`. A point is one entry in `points/table.rs`.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use hugewise_base::histogram::PowerRow;
use hugewise_base::histogram::durations::Durations;
use hugewise_base::missing::Missing;

mod document;
mod page;
pub mod points;

pub use document::csv_head;
pub use points::Preset;

/// Name and version of a [`Trace`] as JSON.
pub const FORMAT: &str = "hugewise-trace 1";

/// Everything that one tracing saw.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Trace {
    /// [`FORMAT`].
    pub format: String,
    /// The kernel, as `uname -r` names it.
    pub kernel: String,
    /// The process that was watched with its descendants; `None`: the whole machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// When it began, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// How long it lasted.
    pub seconds: f64,
    /// The length of the intervals that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_seconds: Option<f64>,
    /// What was traced, and by which means.
    pub points: Vec<TracePoint>,
    /// What was asked for and could not be traced.
    pub missing: Vec<MissingPoint>,
    /// The intervals, where they were asked for and this document is to list them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Window>,
    /// The whole time.
    pub total: Window,
}

/// A point that was traced.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct TracePoint {
    /// The name of the point.
    pub name: String,
    /// How people call it.
    pub title: String,
    /// The preset that it belongs to.
    pub preset: Preset,
    /// The means that worked.
    #[serde(rename = "rung")]
    pub attachment: Attachment,
    /// The functions or events between which time was taken, as this kernel calls them.
    pub places: Vec<String>,
    /// What is inside, by these means.
    pub includes: String,
    /// What else must be known of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether there are durations, or only counts.
    pub kind: PointKind,
    /// What its parts are told apart by, as the head of a column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts_by: Option<String>,
}

/// Whether a point has durations.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PointKind {
    /// From a begin to an end.
    Durations,
    /// Events, which only happen.
    Events,
}

/// A means of tracing, from the best down. They are tried in this order.
#[derive(
    Clone,
    Copy,
    Debug,
    Serialize,
    Deserialize,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Attachment {
    /// A trampoline at the entry and the return of a function.
    Fentry,
    /// A breakpoint at the entry and the return of a function.
    Kprobe,
    /// Tracepoints whose arguments have types.
    TpBtf,
    /// Tracepoints whose arguments are numbers.
    RawTp,
    /// Tracepoints by way of tracefs, which only root may use.
    Tracepoint,
    /// The software events of perf.
    PerfEvent,
}

impl Attachment {
    /// All of them, the best first.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name in all outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A point that could not be traced.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct MissingPoint {
    /// The name of the point.
    pub name: String,
    /// How people call it.
    pub title: String,
    /// Why not.
    pub why: Missing,
    /// What was tried, and what the kernel said.
    pub tried: Vec<String>,
}

/// What came in a stretch of time.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Window {
    /// Its beginning, in seconds since tracing began.
    pub from_seconds: f64,
    /// Its end.
    pub to_seconds: f64,
    /// What each traced point saw, in the order of [`Trace::points`].
    pub points: Vec<PointTotals>,
}

/// What one point saw.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct PointTotals {
    /// The name of the point.
    pub name: String,
    /// Everything together.
    pub all: Latencies,
    /// The parts, where they can be told apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// What was not counted.
    pub losses: Losses,
}

/// One part of what a point saw.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Part {
    /// What it is, as `9` or `exceed_none_pte`.
    pub key: String,
    /// What was seen of it.
    #[serde(flatten)]
    pub latencies: Latencies,
}

/// What was not counted, and why.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Losses {
    /// Begins for which there was no room: more threads than can be followed were inside.
    pub no_room: u64,
    /// Begins of a thread that was already inside; only the last one was timed. A function that
    /// calls itself does so, and so do faults that are tried again.
    pub reentered: u64,
    /// Runs of our programs that the kernel left out because one was already running there.
    pub missed: u64,
}

impl Losses {
    /// Those of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            no_room: self.no_room.saturating_add(other.no_room),
            reentered: self.reentered.saturating_add(other.reentered),
            missed: self.missed.saturating_add(other.missed),
        }
    }

    /// What has come since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            no_room: self.no_room.saturating_sub(earlier.no_room),
            reentered: self.reentered.saturating_sub(earlier.reentered),
            missed: self.missed.saturating_sub(earlier.missed),
        }
    }
}

/// What is said of a histogram: all numbers in nanoseconds, unless their name says otherwise.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Latencies {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub total_ns: u64,
    /// The shortest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<u64>,
    /// The mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// No longer than this were half of them; at most an eighth too much, as all percentiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// 90 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    /// 99 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// 99.9 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9_ns: Option<u64>,
    /// The longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// Powers of two of microseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log2_us: Vec<PowerRow>,
    /// Powers of two of nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log2_ns: Vec<PowerRow>,
}

impl From<&Durations> for Latencies {
    fn from(durations: &Durations) -> Self {
        let histogram = &durations.histogram;
        Self {
            count: histogram.count(),
            total_ns: durations.total_ns,
            min_ns: durations.min_ns,
            mean_ns: durations.mean_ns(),
            p50_ns: histogram.quantile_ns(0.5),
            p90_ns: histogram.quantile_ns(0.9),
            p99_ns: histogram.quantile_ns(0.99),
            p99_9_ns: histogram.quantile_ns(0.999),
            max_ns: histogram.max_ns(),
            log2_us: durations.micro_rows(),
            log2_ns: histogram.nano_rows(),
        }
    }
}

impl Latencies {
    /// A count of events without durations.
    #[must_use]
    pub fn events(count: u64) -> Self {
        Self {
            count,
            ..Self::default()
        }
    }
}
