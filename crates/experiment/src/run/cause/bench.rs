//! The rules about benches: each checks the cells of one suite.

use serde::Serialize;

use super::context::{MissingInput, Told, View};
use super::{CauseOutcome, Kind};
use crate::run::cells::suite::HUGE;
use crate::run::cells::{Bench, BenchCell};
use crate::run::compare::Change;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::cells::{CellMetric, PageKind, pages_name, pages_of};

/// The cells of a bench compared with those of the baseline.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct NoDifference {
    /// All cells.
    pub cells: usize,
    /// Cells that differ.
    pub differ: usize,
    /// The widest end of all intervals, as a share of the baseline.
    pub bound: f64,
}

/// An arm makes no difference in any cell of a bench, within a bound.
pub(super) fn no_difference(view: &View<'_, '_>) -> Told {
    /// A larger bound is not informative.
    const WIDEST: f64 = 0.10;

    let bench = view.context.record.header.plan.bench.as_ref();
    let Some((bench, suite)) = bench.and_then(|bench| Some((bench, bench.suite()?))) else {
        return Ok(None);
    };
    let mut found = NoDifference {
        cells: bench.cells.len(),
        differ: 0,
        bound: 0.0,
    };
    for cell in &bench.cells {
        let name = cell.reading(suite.primary());
        let row = view.context.comparison(&name, view.arm);
        let row = row.filter(|row| row.ratio.is_some());
        let Some((low, high)) = row.and_then(|row| row.low.zip(row.high)) else {
            return Ok(None);
        };
        view.both(&name)?;
        let differs = matches!(view.change(&name), Some(Change::Lower | Change::Higher));
        found.differ += usize::from(differs);
        found.bound = found.bound.max((low - 1.0).abs()).max((high - 1.0).abs());
    }
    let outcome = match () {
        () if found.differ > 0 => CauseOutcome::NotShown,
        () if found.bound <= WIDEST => CauseOutcome::Shown,
        () => CauseOutcome::CannotTell,
    };
    Ok(Some((outcome, Kind::NoDifference(found))))
}

/// Cells of `bench memory` whose source is known.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct ZeroPageSource {
    /// Number of cells that read.
    pub reading: usize,
    /// Number of cells that read the zero page.
    pub of_zero_page: usize,
    /// The most misleading one.
    pub worst: Option<Misread>,
}

/// A cell that measured the zero page.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Misread {
    /// The cell.
    pub cell: String,
    /// Its speed, in bytes per second.
    pub bytes_per_second: f64,
    /// The speed of the same cell over written memory, if the record has it.
    pub written_bytes_per_second: Option<f64>,
}

const RATE: &str = CellMetric::RateBytesPerSecond.name();

/// A cell of `bench memory` read the zero page for at least half of its source: its speed is not that of memory.
pub(super) fn zero_page(view: &View<'_, '_>) -> Told {
    let cells = cells_of(view, "memory");
    let shares = cells.filter_map(|cell| Some((cell, zero_share(view, cell)?)));
    let shares: Vec<(&BenchCell, f64)> = shares.collect();
    let zero = shares.iter().filter(|(_, share)| *share >= 0.5);
    let zero = zero.map(|(cell, _)| Misread::of(view, cell));
    let zero = zero.collect::<Result<Vec<Misread>, MissingInput>>()?;
    let (reading, of_zero_page) = (shares.len(), zero.len());
    let larger = |a: &Misread, b: &Misread| a.excess().total_cmp(&b.excess());
    let found = ZeroPageSource {
        reading,
        of_zero_page,
        worst: zero.into_iter().max_by(larger),
    };
    let outcome = CauseOutcome::shown_if(of_zero_page > 0);
    Ok((reading > 0).then_some((outcome, Kind::ZeroPageSource(found))))
}

impl Misread {
    fn of(view: &View<'_, '_>, cell: &BenchCell) -> Result<Self, MissingInput> {
        let words = cell.parts().map(|word| match word {
            "untouched" => "written",
            other => other,
        });
        let words: Vec<&str> = words.collect();
        let written = BenchCell::of(&words).ok().filter(|written| written != cell);
        let written = written.and_then(|written| view.here(written.reading(RATE)).ok());
        Ok(Self {
            cell: cell.to_string(),
            bytes_per_second: view.here(cell.reading(RATE))?,
            written_bytes_per_second: written.filter(|rate| *rate > 0.0),
        })
    }

    /// Returns how much faster it is than the same over written memory; zero if unknown.
    fn excess(&self) -> f64 {
        let written = self.written_bytes_per_second;
        written.map_or(0.0, |written| self.bytes_per_second / written)
    }
}

/// Returns the share of the zero page in a cell's source. `None` for a cell without a separate source, and if this
/// could not be read.
fn zero_share(view: &View<'_, '_>, cell: &BenchCell) -> Option<f64> {
    let length = cell.number(2)? as f64 * cell.number(4)? as f64;
    let sum = |kinds: &[PageKind]| -> Option<f64> {
        let names = kinds.iter().map(|&kind| pages_name("source", kind));
        let known = names.filter_map(|name| view.here(cell.reading(&name)).ok());
        known.reduce(|sum, bytes| sum + bytes)
    };
    let zero = sum(&[PageKind::Zero, PageKind::HugeZero]);
    let others = sum(&[PageKind::Small, PageKind::Huge, PageKind::Hugetlb]);
    zero.or(others.map(|_| 0.0)).map(|bytes| bytes / length)
}

/// Memory prefaulted by reads and then written, compared with memory prefaulted by a store.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct ReadFirstPrefault {
    /// The method of reading with the least huge memory.
    pub method: &'static str,
    /// The huge share after the write.
    pub share: f64,
    /// The huge share after a store.
    pub store_share: f64,
}

/// Prefaulting memory by reads leaves small pages while writes give huge ones.
pub(super) fn prefault(view: &View<'_, '_>) -> Told {
    /// The methods that read a page before they write it, or only read it.
    const READING: [&str; 4] = ["load", "load-store", "atomic-add", "populate-read"];

    let share = |method: &str| {
        let mut cells = cells_of(view, "prefault").filter(|cell| cell.part(0) == Some(method));
        cells.find_map(|cell| huge_share(view, cell, "written"))
    };
    let store_share = share("store").filter(|&share| share >= 0.9);
    let read = READING.into_iter();
    let read = read.filter_map(|method| Some((method, share(method)?)));
    let worst = read.min_by(|a, b| a.1.total_cmp(&b.1));
    let Some((store_share, (method, share))) = store_share.zip(worst) else {
        return Ok(None);
    };
    let found = ReadFirstPrefault {
        method,
        share,
        store_share,
    };
    let outcome = CauseOutcome::shown_if(share < 0.5);
    Ok(Some((outcome, Kind::ReadFirstPrefault(found))))
}

/// Returns the part of a buffer mapped by huge pages, relative to the known part.
fn huge_share(view: &View<'_, '_>, cell: &BenchCell, buffer: &str) -> Option<f64> {
    let prefix = cell.reading("");
    let trial = arm_trials(view.context.record, view.arm).next()?;
    let (mut huge, mut all) = (0.0, 0.0);
    for name in trial.readings.keys() {
        let Some((of, kind)) = name.strip_prefix(&prefix).and_then(pages_of) else {
            continue;
        };
        if of == buffer {
            let bytes = view.here(name).ok()?;
            all += bytes;
            huge += if kind == PageKind::Huge { bytes } else { 0.0 };
        }
    }
    (all > 0.0).then(|| huge / all)
}

/// Heaps of `bench growth` that begin on a boundary and are used at once.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct GrowthBelowHugePage {
    /// The size of a huge page, in bytes.
    pub huge_page_bytes: u64,
    /// The step below it with the most huge memory, in bytes.
    pub step_below_bytes: u64,
    /// The share of that heap that became huge.
    pub share_below: f64,
    /// The smallest step of whole huge pages with much huge memory, in bytes.
    pub step_whole_bytes: u64,
    /// The share of that heap that became huge.
    pub share_whole: f64,
}

/// A heap that grows by less than a huge page, and is used as it grows, gets no huge page.
pub(super) fn growth(view: &View<'_, '_>) -> Told {
    /// A share up to this counts as nothing huge.
    const HARDLY: f64 = 0.05;
    /// A share from this counts as much.
    const MUCH: f64 = 0.5;

    let Some(huge_page_bytes) = view.context.host().pmd_bytes() else {
        return Ok(None);
    };
    let step = |cell: &BenchCell| cell.number(1).unwrap_or(0);
    let cells = cells_of(view, "growth");
    let cells =
        cells.filter(|cell| cell.part(2) == Some("aligned") && cell.part(3) == Some("at-once"));
    let (below, whole): (Vec<&BenchCell>, Vec<&BenchCell>) =
        cells.partition(|cell| step(cell) < huge_page_bytes);
    let (below, whole) = (each(view, below, HUGE)?, each(view, whole, HUGE)?);
    let much = whole.iter().filter(|(_, share)| *share >= MUCH);
    let least = much.min_by_key(|(cell, _)| step(cell)).copied();
    let both = largest(&below).zip(least.or(largest(&whole)));
    // If both got small pages, the rule does not apply.
    let both = both.filter(|((_, below), (_, whole))| below.max(*whole) >= MUCH);
    let Some(((most, share_below), (best, share_whole))) = both else {
        return Ok(None);
    };
    let found = GrowthBelowHugePage {
        huge_page_bytes,
        step_below_bytes: step(most),
        share_below,
        step_whole_bytes: step(best),
        share_whole,
    };
    let outcome = CauseOutcome::shown_if(share_below <= HARDLY && share_whole >= MUCH);
    Ok(Some((outcome, Kind::GrowthBelowHugePage(found))))
}

/// The largest share of a part of the time, over the cells of `bench slab`.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct LargeShare {
    /// The share of kernel time, or of zeroing.
    pub share: f64,
    /// The kind of the cell with this share.
    pub cell: String,
}

/// Page faults are a large share of the time. Kernel time is an upper bound, as it contains zeroing.
pub(super) fn page_faults(view: &View<'_, '_>) -> Told {
    largest_part(view, CellMetric::KernelRatio)
}

/// Zeroing is a large share of the time. This is a lower bound, unless memory was returned and faulted in again.
pub(super) fn zeroing(view: &View<'_, '_>) -> Told {
    largest_part(view, CellMetric::ZeroingRatio)
}

fn largest_part(view: &View<'_, '_>, metric: CellMetric) -> Told {
    /// The share of its time above which a part of a program is worth optimising.
    const GOOD_PART: f64 = 0.1;

    let shares = each(view, cells_of(view, "slab"), metric.name())?;
    Ok(largest(&shares).map(|(cell, share)| {
        let outcome = CauseOutcome::shown_if(share >= GOOD_PART);
        let cell = cell.part(0).unwrap_or_default().to_owned();
        (outcome, Kind::LargeShare(LargeShare { share, cell }))
    }))
}

/// Returns the cells of an experiment with this suite; empty for another.
fn cells_of<'a>(view: &View<'_, 'a>, suite: &'a str) -> impl Iterator<Item = &'a BenchCell> {
    let bench: Option<&'a Bench> = view.context.record.header.plan.bench.as_ref();
    let bench = bench.filter(|bench| bench.suite == suite);
    bench.into_iter().flat_map(|bench| &bench.cells)
}

/// Returns a metric of each cell under the arm, with the cell.
fn each<'b>(
    view: &View<'_, '_>,
    cells: impl IntoIterator<Item = &'b BenchCell>,
    metric: &str,
) -> Result<Vec<(&'b BenchCell, f64)>, MissingInput> {
    let read = |cell: &'b BenchCell| Ok((cell, view.here(cell.reading(metric))?));
    cells.into_iter().map(read).collect()
}

/// Returns the cell with the largest value.
fn largest<'b>(values: &[(&'b BenchCell, f64)]) -> Option<(&'b BenchCell, f64)> {
    let largest = values.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    largest.copied()
}
