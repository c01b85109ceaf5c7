//! Kernel stalls: what can be traced, and the results.
//!
//! To add a tracing mechanism, add an `Attachment` here, its programs to `latency.bpf.c`, its attempt to
//! `bpf/ladder.rs`, and its attachment to `probe/attach.rs`; then run `cargo xtask bpf`. A point is one entry in
//! `points/table.rs`.

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

/// The complete result of one tracing session.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Trace {
    /// [`FORMAT`].
    pub format: String,
    /// The kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// The process that was traced with its descendants; `None` for the whole machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Start time, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// The duration, in seconds.
    pub seconds: f64,
    /// The requested length of an interval, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_seconds: Option<f64>,
    /// The traced points, and how each was traced.
    pub points: Vec<TracePoint>,
    /// The requested points that could not be traced.
    pub missing: Vec<MissingPoint>,
    /// The intervals, if they were requested and this document lists them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Window>,
    /// The whole session.
    pub total: Window,
}

/// A traced point.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct TracePoint {
    /// The name of the point.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// The preset that contains it.
    pub preset: Preset,
    /// The mechanism that worked.
    #[serde(rename = "rung")]
    pub attachment: Attachment,
    /// The functions or events that mark its start and end, by their names in this kernel.
    pub places: Vec<String>,
    /// The work that a duration or count includes, with this mechanism.
    pub includes: String,
    /// Caveats about the point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Durations, or only counts.
    pub kind: PointKind,
    /// The property that distinguishes its parts, as a column title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts_by: Option<String>,
}

/// The kind of data that a point provides.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PointKind {
    /// Durations from a start to an end.
    Durations,
    /// Events without a duration.
    Events,
}

/// A tracing mechanism. The best comes first, and they are tried in this order.
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
    /// Tracepoints with typed arguments.
    TpBtf,
    /// Tracepoints with numeric arguments.
    RawTp,
    /// Tracepoints through tracefs, which only root can use.
    Tracepoint,
    /// The software events of perf.
    PerfEvent,
}

impl Attachment {
    /// All mechanisms, the best first.
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
    /// The name for people.
    pub title: String,
    /// The reason.
    pub why: Missing,
    /// The attempts, and the errors that the kernel returned.
    pub tried: Vec<String>,
}

/// The results of one interval.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Window {
    /// The start, in seconds since tracing began.
    pub from_seconds: f64,
    /// The end, in seconds since tracing began.
    pub to_seconds: f64,
    /// The totals of each traced point, in the order of [`Trace::points`].
    pub points: Vec<PointTotals>,
}

/// The totals of one point.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct PointTotals {
    /// The name of the point.
    pub name: String,
    /// All parts together.
    pub all: Latencies,
    /// The parts, if they can be distinguished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The events that were not counted.
    pub losses: Losses,
}

/// One part of the totals of a point.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Part {
    /// Its key, such as `9` or `exceed_none_pte`.
    pub key: String,
    /// Its latencies.
    #[serde(flatten)]
    pub latencies: Latencies,
}

/// Events that were not counted, and why.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Losses {
    /// Starts without space in the map, because more threads were inside than can be followed.
    pub no_room: u64,
    /// Starts by a thread that was already inside; only the last one was timed. Recursive functions cause them, and so
    /// do retried faults.
    pub reentered: u64,
    /// BPF program runs that the kernel skipped because one was already running.
    pub missed: u64,
}

impl Losses {
    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            no_room: self.no_room.saturating_add(other.no_room),
            reentered: self.reentered.saturating_add(other.reentered),
            missed: self.missed.saturating_add(other.missed),
        }
    }

    /// Returns the increase since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            no_room: self.no_room.saturating_sub(earlier.no_room),
            reentered: self.reentered.saturating_sub(earlier.reentered),
            missed: self.missed.saturating_sub(earlier.missed),
        }
    }
}

/// Statistics of a histogram, in nanoseconds unless the name gives another unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Latencies {
    /// The number of samples.
    pub count: u64,
    /// Their sum.
    pub total_ns: u64,
    /// The shortest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<u64>,
    /// The mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// The median, at most an eighth too high, like all percentiles here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// The 90th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    /// The 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9_ns: Option<u64>,
    /// The longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// Histogram by powers of two of microseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log2_us: Vec<PowerRow>,
    /// Histogram by powers of two of nanoseconds.
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
