//! The metrics of cells: a family of [`crate::run::metric`], named `bench/CELL/METRIC`.
//!
//! The pages that lay under a buffer when it had been measured are such metrics too,
//! `bench/CELL/BUFFER_KIND_bytes`: each cell carries the proof of its page policy.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::base::units::Unit;
use crate::run::cells::Cell;
use crate::run::metric::{Better, Metric, Scope, Shown};

/// What can be measured in a cell: name, label, unit, good direction, meaning.
type Row = (&'static str, &'static str, Unit, Better, &'static str);

/// The table. Names end in their unit.
#[rustfmt::skip]
static ROWS: &[Row] = &[
    ("rate_bytes_per_second", "speed", Unit::BytesPerSecond, Better::Higher,
        "Bytes that the suite counts, by the time of the median repeat."),
    ("latency_seconds", "latency", Unit::Seconds, Better::Lower,
        "Time of one load that the next one waits for, in the fastest repeat: what disturbs can \
         only add."),
    ("time_seconds", "time", Unit::Seconds, Better::Lower,
        "Time of the whole operation on the monotonic clock, in the median repeat."),
    ("time_per_gib_seconds", "time per GiB", Unit::Seconds, Better::Lower,
        "Time of bringing memory in, for each GiB of it, in the median repeat."),
    ("later_time_per_gib_seconds", "writing it then", Unit::Seconds, Better::Lower,
        "Time of one store to every page afterwards, for each GiB, in the median repeat."),
    ("later_faults_total", "faults then", Unit::Count, Better::Lower,
        "Page faults of those stores: none where the memory had really been brought in."),
    ("operations_per_second", "operations", Unit::PerSecond, Better::Higher,
        "Operations that ended, by the time that they took."),
    ("later_operations_per_second", "second half", Unit::PerSecond, Better::Higher,
        "Operations of the second half alone, in which hardly any memory is new."),
    ("huge_ratio", "huge share", Unit::Ratio, Better::Neither,
        "Part of the memory that was mapped by huge pages afterwards."),
    ("fork_seconds", "fork", Unit::Seconds, Better::Lower,
        "Time of the call of fork in the parent."),
    ("added_bytes", "memory added", Unit::Bytes, Better::Lower,
        "Growth of what parent and child hold together (Pss), from before the fork to the end."),
    ("p50_seconds", "median", Unit::Seconds, Better::Lower,
        "Median duration of one operation."),
    ("p99_seconds", "p99", Unit::Seconds, Better::Lower,
        "99th percentile of the duration of one operation."),
    ("p999_seconds", "p99.9", Unit::Seconds, Better::Lower,
        "99.9th percentile of the duration of one operation."),
    ("max_seconds", "longest", Unit::Seconds, Better::Lower,
        "Longest duration of one operation."),
    ("faults_total", "faults", Unit::Count, Better::Lower,
        "Page faults of the process meanwhile, minor and major (getrusage)."),
    ("splits_total", "splits", Unit::Count, Better::Lower,
        "Growth of vmstat thp_split_pmd meanwhile: other programs are in it."),
    ("huge_bytes", "huge afterwards", Unit::Bytes, Better::Neither,
        "Memory that was mapped by huge pages afterwards."),
    ("resident_bytes", "resident", Unit::Bytes, Better::Lower,
        "Growth of the resident set of the process."),
    ("system_seconds", "system time", Unit::Seconds, Better::Lower,
        "Time in the kernel meanwhile (getrusage)."),
    ("kernel_ratio", "kernel share", Unit::Ratio, Better::Lower,
        "Time in the kernel, by the time that all of it took."),
    ("zeroing_ratio", "zeroing share", Unit::Ratio, Better::Lower,
        "Time of clearing the memory that came in, by the time that all of it took: its bytes at \
         the speed at which the same process clears memory that is there. An estimate from below."),
    ("fragmented_ratio", "free in small blocks", Unit::Ratio, Better::Neither,
        "Part of free memory in blocks smaller than a huge page (/proc/buddyinfo), before."),
    ("later_fragmented_ratio", "the same afterwards", Unit::Ratio, Better::Neither,
        "Part of free memory in small blocks once the state was let go."),
    ("reaching_seconds", "time of reaching it", Unit::Seconds, Better::Lower,
        "Time of bringing free memory to the state."),
    ("kept_bytes", "kept", Unit::Bytes, Better::Neither,
        "Memory that is held so that free memory stays in small blocks."),
    ("stalls_total", "compactions", Unit::Count, Better::Lower,
        "Growth of vmstat compact_stall meanwhile: other programs are in it."),
    ("repeats_total", "repeats", Unit::Count, Better::Neither,
        "Repeats of the measurement in this trial, of which the median was taken."),
    ("spread_ratio", "spread of repeats", Unit::Ratio, Better::Neither,
        "Longest repeat less the shortest, by the median one."),
    ("timer_seconds", "reading the clock", Unit::Seconds, Better::Neither,
        "Time of one reading of the clock: an error of two of them is in each repeat."),
    ("empty_seconds", "empty pass", Unit::Seconds, Better::Neither,
        "Time of one pass of the measuring loop that calls a function which returns at once: \
         it is in each pass, and is not subtracted."),
    ("node_total", "NUMA node", Unit::Count, Better::Neither,
        "Number of the NUMA node on whose processor the measuring began."),
];

/// How the pages of a buffer are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageKind {
    /// Base pages, or where only the page table could be asked, base pages and folios alike.
    Small,
    /// Folios of so many bytes, mapped page by page; those as large as a huge page lie under
    /// mappings that were split.
    Folio(u64),
    /// Transparent huge pages.
    Huge,
    /// The shared zero page: memory that was read and never written.
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

/// Whether a word can name a buffer.
pub(crate) fn is_buffer(name: &str) -> bool {
    !name.is_empty() && name.len() <= 24 && name.chars().all(|c| c.is_ascii_lowercase())
}

/// The name, without its cell, of the metric of one kind of page under one buffer.
#[must_use]
pub fn pages_name(buffer: &str, kind: PageKind) -> String {
    format!("{buffer}_{kind}_bytes")
}

/// The buffer and the kind of page that a metric, without its cell, speaks of.
#[must_use]
pub fn pages_of(metric: &str) -> Option<(&str, PageKind)> {
    let (buffer, kind) = metric.strip_suffix("_bytes")?.split_once('_')?;
    let known = ROWS.iter().any(|(name, ..)| *name == metric);
    (!known && is_buffer(buffer)).then_some((buffer, kind.parse().ok()?))
}

/// The cell and the metric of a reading's name.
#[must_use]
pub fn split(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("bench/")?.rsplit_once('/')
}

/// A metric of the table by its name without a cell.
#[must_use]
pub fn of_cell(name: &str) -> Option<Metric> {
    let row = ROWS.iter().find(|(known, ..)| *known == name)?;
    let (name, label, unit, better, doc) = row;
    Some(metric(name, label, unit.clone(), *better, doc))
}

/// A metric of the family by its whole name.
pub(crate) fn find(name: &str) -> Option<Metric> {
    let (cell, last) = split(name)?;
    cell.parse::<Cell>().ok()?;
    let found = of_cell(last).or_else(|| {
        let (buffer, kind) = pages_of(last)?;
        let label = format!("{buffer}: {kind}");
        let doc = format!("Bytes of the buffer `{buffer}` of kind `{kind}` once it was measured.");
        Some(metric(last, &label, Unit::Bytes, Better::Neither, &doc))
    })?;
    Some(Metric {
        name: Cow::Owned(name.to_owned()),
        label: Cow::Owned(format!("{cell}: {}", found.label)),
        ..found
    })
}

fn metric(name: &str, label: &str, unit: Unit, better: Better, doc: &str) -> Metric {
    Metric {
        name: Cow::Owned(name.to_owned()),
        label: Cow::Owned(label.to_owned()),
        unit,
        better,
        scope: Scope::Main,
        shown: Shown::OnRequest,
        doc: Cow::Owned(doc.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_end_in_their_unit() {
        let mut seen = std::collections::BTreeSet::new();
        for (name, _, unit, _, doc) in ROWS {
            assert!(seen.insert(name), "{name} twice");
            assert!(name.ends_with(unit.suffix().unwrap()), "{name}");
            assert!(doc.ends_with('.'), "{name}");
            assert_eq!(pages_of(name), None, "{name} reads as pages");
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
