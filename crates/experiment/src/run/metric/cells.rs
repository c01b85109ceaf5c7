//! The metrics of cells: a family of [`crate::run::metric`], named `bench/CELL/METRIC`.
//!
//! The pages under a buffer after its measurement are such metrics too, `bench/CELL/BUFFER_KIND_bytes`: each cell
//! carries the evidence for its page policy.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::base::units::Unit;
use crate::run::cells::BenchCell;
use crate::run::metric::{Better, Metric, Scope, Shown};

#[rustfmt::skip]
metrics! {
    /// A metric in a cell of a bench.
    pub enum CellMetric in CELL_METRICS;
    RateBytesPerSecond "rate_bytes_per_second" "speed" BytesPerSecond Higher Main OnRequest
        "Bytes counted by the suite, divided by the time of the median repeat.";
    LatencySeconds "latency_seconds" "latency" Seconds Lower Main OnRequest
        "Time of one load in a dependent chain, in the fastest repeat: disturbances only add time.";
    TimeSeconds "time_seconds" "time" Seconds Lower Main OnRequest
        "Time of the whole operation on the monotonic clock, in the median repeat.";
    TimePerGibSeconds "time_per_gib_seconds" "time per GiB" Seconds Lower Main OnRequest
        "Time of faulting memory in, per GiB, in the median repeat.";
    LaterTimePerGibSeconds "later_time_per_gib_seconds" "writing it then" Seconds Lower Main OnRequest
        "Time of one store to every page afterwards, per GiB, in the median repeat.";
    LaterFaultsTotal "later_faults_total" "faults then" Count Lower Main OnRequest
        "Page faults of those stores: zero if the memory was really faulted in.";
    OperationsPerSecond "operations_per_second" "operations" PerSecond Higher Main OnRequest
        "Completed operations, divided by their time.";
    LaterOperationsPerSecond "later_operations_per_second" "second half" PerSecond Higher Main OnRequest
        "Operations of only the second half, in which hardly any memory is new.";
    HugeRatio "huge_ratio" "huge share" Ratio Neither Main OnRequest
        "Part of the memory mapped by huge pages afterwards.";
    ForkSeconds "fork_seconds" "fork" Seconds Lower Main OnRequest
        "Time of the call of fork in the parent.";
    AddedBytes "added_bytes" "memory added" Bytes Lower Main OnRequest
        "Growth of the memory of parent and child together (Pss), from before the fork to the end.";
    P50Seconds "p50_seconds" "median" Seconds Lower Main OnRequest
        "Median duration of one operation.";
    P99Seconds "p99_seconds" "p99" Seconds Lower Main OnRequest
        "99th percentile of the duration of one operation.";
    P999Seconds "p999_seconds" "p99.9" Seconds Lower Main OnRequest
        "99.9th percentile of the duration of one operation.";
    MaxSeconds "max_seconds" "longest" Seconds Lower Main OnRequest
        "Longest duration of one operation.";
    FaultsTotal "faults_total" "faults" Count Lower Main OnRequest
        "Page faults of the process during this time, minor and major (getrusage).";
    SplitsTotal "splits_total" "splits" Count Lower Main OnRequest
        "Growth of vmstat thp_split_pmd during this time; it includes other programs.";
    HugeBytes "huge_bytes" "huge afterwards" Bytes Neither Main OnRequest
        "Memory mapped by huge pages afterwards.";
    ResidentBytes "resident_bytes" "resident" Bytes Lower Main OnRequest
        "Growth of the resident set of the process.";
    SystemSeconds "system_seconds" "system time" Seconds Lower Main OnRequest
        "Time in the kernel during this time (getrusage).";
    KernelRatio "kernel_ratio" "kernel share" Ratio Lower Main OnRequest
        "Time in the kernel, divided by the total time.";
    ZeroingRatio "zeroing_ratio" "zeroing share" Ratio Lower Main OnRequest
        "Estimated time of clearing the new memory, divided by the total time. The estimate uses the speed at which the same process clears resident memory, and is a lower bound.";
    FragmentedRatio "fragmented_ratio" "free in small blocks" Ratio Neither Main OnRequest
        "Part of free memory in blocks smaller than a huge page (/proc/buddyinfo), before the measurement.";
    LaterFragmentedRatio "later_fragmented_ratio" "the same afterwards" Ratio Neither Main OnRequest
        "Part of free memory in small blocks after the state was released.";
    ReachingSeconds "reaching_seconds" "time of reaching it" Seconds Lower Main OnRequest
        "Time to bring free memory into the state.";
    KeptBytes "kept_bytes" "kept" Bytes Neither Main OnRequest
        "Memory kept allocated so that free memory stays in small blocks.";
    StallsTotal "stalls_total" "compactions" Count Lower Main OnRequest
        "Growth of vmstat compact_stall during this time; it includes other programs.";
    RepeatsTotal "repeats_total" "repeats" Count Neither Main OnRequest
        "Number of repeats in this trial; their median is reported.";
    SpreadRatio "spread_ratio" "spread of repeats" Ratio Neither Main OnRequest
        "Longest repeat minus the shortest, divided by the median.";
    TimerSeconds "timer_seconds" "reading the clock" Seconds Neither Main OnRequest
        "Time of one reading of the clock: each repeat has an error of two readings.";
    EmptySeconds "empty_seconds" "empty pass" Seconds Neither Main OnRequest
        "Time of one pass of the measuring loop with an empty function. Each pass includes it; it is not subtracted.";
    NodeTotal "node_total" "NUMA node" Count Neither Main OnRequest
        "Number of the NUMA node of the processor at the start of the measurement.";
}

/// How the pages of a buffer are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageKind {
    /// Base pages; if only the page table could be read, base pages and folios.
    Small,
    /// Folios of so many bytes, mapped page by page; those as large as a huge page have split mappings.
    Folio(u64),
    /// Transparent huge pages.
    Huge,
    /// The shared zero page: memory read but never written.
    Zero,
    /// The shared huge zero page.
    HugeZero,
    /// Pages of a hugetlb pool.
    Hugetlb,
    /// No page.
    Absent,
}

impl fmt::Display for PageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Small => f.write_str("small"),
            Self::Folio(bytes) => write!(f, "mthp_{bytes}"),
            Self::Huge => f.write_str("huge"),
            Self::Zero => f.write_str("zero"),
            Self::HugeZero => f.write_str("huge_zero"),
            Self::Hugetlb => f.write_str("hugetlb"),
            Self::Absent => f.write_str("absent"),
        }
    }
}

impl FromStr for PageKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "small" => Self::Small,
            "huge" => Self::Huge,
            "zero" => Self::Zero,
            "huge_zero" => Self::HugeZero,
            "hugetlb" => Self::Hugetlb,
            "absent" => Self::Absent,
            other => {
                let bytes = other.strip_prefix("mthp_").and_then(|n| n.parse().ok());
                Self::Folio(bytes.ok_or_else(|| format!("`{other}` is no kind of page"))?)
            }
        })
    }
}

/// Returns true if a word is a valid name of a buffer.
pub fn is_buffer(name: &str) -> bool {
    !name.is_empty() && name.len() <= 24 && name.chars().all(|c| c.is_ascii_lowercase())
}

/// The name, without its cell, of the metric for one kind of page under one buffer.
#[must_use]
pub fn pages_name(buffer: &str, kind: PageKind) -> String {
    format!("{buffer}_{kind}_bytes")
}

/// The buffer and the kind of page of a metric, without its cell.
#[must_use]
pub fn pages_of(metric: &str) -> Option<(&str, PageKind)> {
    let (buffer, kind) = metric.strip_suffix("_bytes")?.split_once('_')?;
    let known = metric.parse::<CellMetric>().is_ok();
    (!known && is_buffer(buffer)).then_some((buffer, kind.parse().ok()?))
}

/// The cell and the metric in a reading's name.
#[must_use]
pub fn split(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("bench/")?.rsplit_once('/')
}

/// A metric of the table by its name without a cell.
#[must_use]
pub fn of_cell(name: &str) -> Option<&'static Metric> {
    name.parse::<CellMetric>().ok().map(CellMetric::metric)
}

/// A metric of the family by its whole name.
pub fn find(name: &str) -> Option<Metric> {
    let (cell, last) = split(name)?;
    cell.parse::<BenchCell>().ok()?;
    let found = of_cell(last).cloned().or_else(|| pages_metric(last))?;
    Some(Metric {
        name: Cow::Owned(name.to_owned()),
        label: Cow::Owned(format!("{cell}: {}", found.label)),
        ..found
    })
}

/// The bytes of one kind of page under one buffer, as a metric without its cell.
fn pages_metric(name: &str) -> Option<Metric> {
    let (buffer, kind) = pages_of(name)?;
    Some(Metric {
        name: Cow::Owned(name.to_owned()),
        label: Cow::Owned(format!("{buffer}: {kind}")),
        unit: Unit::Bytes,
        better: Better::Neither,
        scope: Scope::Main,
        shown: Shown::OnRequest,
        doc: Cow::Owned(format!(
            "Bytes of the buffer `{buffer}` of kind `{kind}` once it was measured."
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_reads_as_pages() {
        for metric in CELL_METRICS {
            assert_eq!(pages_of(&metric.name), None, "{}", metric.name);
        }
    }

    #[test]
    fn the_family_is_found_by_whole_names() {
        let rate = find("bench/copy/libc/4096/written/1/rate_bytes_per_second").unwrap();
        assert_eq!(rate.unit, Unit::BytesPerSecond);
        assert_eq!(rate.better, Better::Higher);
        let pages = find("bench/copy/libc/4096/written/1/source_huge_zero_bytes").unwrap();
        assert_eq!(pages.label, "copy/libc/4096/written/1: source: huge_zero");
        for name in [
            "bench/rate_bytes_per_second",
            "bench//rate_bytes_per_second",
            "bench/x/no_such",
            "bench/x/source_blue_bytes",
            "copy/rate_bytes_per_second",
        ] {
            assert_eq!(find(name), None, "{name}");
        }
    }

    #[test]
    fn kinds_read_as_they_are_written() {
        for kind in [
            PageKind::Small,
            PageKind::Folio(65_536),
            PageKind::Huge,
            PageKind::Zero,
            PageKind::HugeZero,
            PageKind::Hugetlb,
            PageKind::Absent,
        ] {
            assert_eq!(
                pages_of(&pages_name("source", kind)),
                Some(("source", kind))
            );
        }
        assert!("mthp_x".parse::<PageKind>().is_err());
    }
}
