//! The columns and fields that load generators and benchmarks print: the name of each, its figure, and its unit. Each
//! reader handles its format and takes these from here.
//!
//! `run::metric::requests` has the better direction of each figure. Sources that print a unit with each value (wrk,
//! JMH, Google Benchmark) have no row here.

use Figure::{Answered, Failed, Longest, Percentile, Rate, Sent};
use Format::{FioKind, FioMicros, FioNanos, Locust, Memtier, Oha, RedisSummary, RedisTable, Ycsb};
use Need::{May, Must};

use crate::run::plan::TimeUnit::{self, Micros, Millis, Nanos, Seconds};

/// A table, an object or a group of lines with the figures of a kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// `redis-benchmark --csv`.
    RedisTable,
    /// The summary of redis-benchmark.
    RedisSummary,
    /// `PREFIX_stats.csv` of locust.
    Locust,
    /// `summary` and `latencyPercentiles` of oha.
    Oha,
    /// `Totals` of memtier_benchmark, and its percentiles.
    Memtier,
    /// `read`, `write` or `trim` of fio.
    FioKind,
    /// `clat_ns` of fio, since 3.0.
    FioNanos,
    /// `clat` of fio before 3.0.
    FioMicros,
    /// `[READ], NAME, VALUE` of YCSB.
    Ycsb,
}

/// The figure in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    /// The percentile of the time; its name has `#` for the percent.
    Percentile(TimeUnit),
    /// The longest time.
    Longest(TimeUnit),
    /// Number per second.
    Rate,
    /// Number of answered ones.
    Answered,
    /// Number of sent ones.
    Sent,
    /// Number of failed ones.
    Failed,
}

/// The meaning of a missing column: a torn row, or another table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Must,
    May,
}

/// A column: its table, its printed name, its figure, and whether it is mandatory.
pub(super) struct Column(
    pub(super) Format,
    pub(super) &'static str,
    pub(super) Figure,
    pub(super) Need,
);

#[rustfmt::skip]
pub(super) const COLUMNS: [Column; 35] = [
        Column(RedisTable,   "p#_latency_ms",             Percentile(Millis),  May),
        Column(RedisTable,   "max_latency_ms",            Longest(Millis),     May),
        Column(RedisTable,   "rps",                       Rate,                Must),
        Column(RedisSummary, "p#",                        Percentile(Millis),  May),
        Column(RedisSummary, "max",                       Longest(Millis),     May),
        Column(Locust,       "Request Count",             Sent,                Must),
        Column(Locust,       "Failure Count",             Failed,              Must),
        Column(Locust,       "Requests/s",                Rate,                Must),
        Column(Locust,       "#%",                        Percentile(Millis),  May),
        Column(Locust,       "Max Response Time",         Longest(Millis),     May),
        // Before 1.0.
        Column(Locust,       "# requests",                Sent,                Must),
        Column(Locust,       "# failures",                Failed,              Must),
        Column(Locust,       "Max response time",         Longest(Millis),     May),
        Column(Oha,          "p#",                        Percentile(Seconds), May),
        Column(Oha,          "slowest",                   Longest(Seconds),    May),
        Column(Oha,          "requestsPerSec",            Rate,                May),
        Column(Memtier,      "p#",                        Percentile(Millis),  May),
        Column(Memtier,      "Max Latency",               Longest(Millis),     May),
        Column(Memtier,      "Ops/sec",                   Rate,                Must),
        Column(Memtier,      "Count",                     Answered,            May),
        Column(Memtier,      "Connection Errors",         Failed,              May),
        Column(FioKind,      "iops",                      Rate,                Must),
        Column(FioKind,      "total_ios",                 Answered,            May),
        Column(FioNanos,     "#",                         Percentile(Nanos),   May),
        Column(FioNanos,     "max",                       Longest(Nanos),      May),
        Column(FioMicros,    "#",                         Percentile(Micros),  May),
        Column(FioMicros,    "max",                       Longest(Micros),     May),
        Column(Ycsb,         "Throughput(ops/sec)",       Rate,                May),
        Column(Ycsb,         "Operations",                Answered,            May),
        Column(Ycsb,         "#thPercentileLatency(us)",  Percentile(Micros),  May),
        Column(Ycsb,         "#PercentileLatency(us)",    Percentile(Micros),  May),
        Column(Ycsb,         "MaxLatency(us)",            Longest(Micros),     May),
        Column(Ycsb,         "#thPercentileLatency(ms)",  Percentile(Millis),  May),
        Column(Ycsb,         "#PercentileLatency(ms)",    Percentile(Millis),  May),
        Column(Ycsb,         "MaxLatency(ms)",            Longest(Millis),     May),
];

/// The columns of a source with a row for each request or each run.
pub(super) struct Each {
    /// The duration.
    pub(super) took: &'static str,
    pub(super) unit: TimeUnit,
    /// The HTTP status.
    pub(super) status: Option<&'static str>,
    /// When it began, in nanoseconds since 1970 or as a date.
    pub(super) began: Option<&'static str>,
}

const fn each(took: &'static str, unit: TimeUnit) -> Each {
    let (status, began) = (None, None);
    Each {
        took,
        unit,
        status,
        began,
    }
}

pub(super) const K6_TABLE: Each = each("metric_value", Millis);
pub(super) const K6_JSON: Each = each("data.value", Millis);
pub(super) const HYPERFINE: Each = each("times", Seconds);
pub(super) const GO: Each = each("ns/op", Nanos);
pub(super) const HEY: Each = Each {
    status: Some("status-code"),
    ..each("response-time", Seconds)
};
pub(super) const VEGETA_JSON: Each = Each {
    status: Some("code"),
    began: Some("timestamp"),
    ..each("latency", Nanos)
};
/// Its table has no heading: these are positions.
pub(super) const VEGETA_TABLE: Each = Each {
    status: Some("2"),
    began: Some("1"),
    ..each("3", Nanos)
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_table_has_a_name_twice() {
        for (place, Column(format, name, ..)) in COLUMNS.iter().enumerate() {
            let before = COLUMNS[..place].iter();
            let mut alike = before.filter(|it| (it.0, it.1) == (*format, *name));
            assert!(alike.next().is_none(), "{format:?} {name}");
        }
    }
}
