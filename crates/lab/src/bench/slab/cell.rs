//! A cell of the suite `slab`, `SOURCE/PLACES/OPERATIONS`.

use std::collections::BTreeSet;

use super::super::backing::Request;
use super::super::fresh::{reason, warm};
use super::super::pages::{Mapped, Pages, look};
use super::super::words::Words;
use super::super::{Line, Measured, Reason, memory_budget};
use super::clear::clearing_rate;
use super::heap::{Heap, LARGEST, Prefault, SLAB};
use super::{Done, Held, Load, Malloc, work};
use crate::Trouble;
use crate::region::{Advice, huge_bytes};

/// The source of a cell's objects.
#[derive(Clone, Copy, Debug)]
enum From {
    /// The laboratory's own slabs.
    Slabs(Prefault),
    /// `malloc` of the process, of the loaded allocator.
    Malloc,
}

const SOURCES: [(&str, From); 4] = [
    ("slab", From::Slabs(Prefault::Off)),
    ("slab-populate", From::Slabs(Prefault::Populate)),
    ("slab-touch", From::Slabs(Prefault::Touch)),
    ("malloc", From::Malloc),
];

/// The same seed for sizes and places in every cell and trial.
const SEED: u64 = 42;

/// Runs the load once.
pub(in crate::bench) fn measure(cell: &str, request: Request) -> Result<Measured<'_>, Trouble> {
    let mut words = Words::of(cell);
    let from = words.name(&SOURCES)?;
    let load = Load {
        places: words.number()?,
        operations: words.number()?,
        seed: SEED,
    };
    words.finish()?;
    let advice = match (from, request) {
        (From::Malloc, _) | (_, Request::Plain) => Advice::None,
        (_, Request::Advised) => Advice::Huge,
        (_, Request::Small) => Advice::Small,
        (_, Request::Hugetlb(_)) => {
            let what = "slabs of pages of a hugetlb pool";
            return Ok(Err(Reason::NotSupported(what.to_owned())));
        }
    };
    let most = most_bytes(load.places);
    if let Err(reason) = memory_budget::check(most as u64, "the objects of this cell") {
        return Ok(Err(reason));
    }
    match line(cell, from, &load, (request, advice)) {
        Ok(measured) => Ok(measured),
        Err(trouble) => reason(trouble).map(Err),
    }
}

/// The memory of slabs if each place has had an object of the largest size, and each size has started a slab.
fn most_bytes(places: usize) -> usize {
    places.saturating_mul(2 * LARGEST) + 4 * SLAB
}

fn line<'a>(
    cell: &'a str,
    from: From,
    load: &Load,
    (request, advice): (Request, Advice),
) -> Result<Measured<'a>, Trouble> {
    let most = most_bytes(load.places);
    // In the long run half of the places are occupied, by objects of half the largest size on average.
    warm(most / 4, request)?;
    let (done, line) = match from {
        From::Malloc => {
            let done = work(&mut Malloc, load)?;
            let pages = beneath(&done.boundaries);
            // Without the page scan (Linux 6.7), uses the memory growth.
            let grown = done.grown.map_or(f64::NAN, Held::huge_share);
            let share = pages.as_ref().map_or(grown, Pages::huge_share);
            let line = Line::of(cell).metric("huge_ratio", share);
            (done, line.pages("objects", pages))
        }
        From::Slabs(prefault) => {
            let mut heap = Heap::new(most.div_ceil(huge_bytes()), advice, prefault)?;
            let done = work(&mut heap, load)?;
            let slabs = heap.slabs();
            let pages = look(slabs.pointer().cast(), slabs.bytes(), Mapped::Anonymous);
            heap.end()?;
            let huge = done.grown.map_or(f64::NAN, Held::huge_share);
            let line = Line::of(cell).metric("huge_ratio", huge);
            (done, line.pages("slabs", pages))
        }
    };
    if done.damaged > 0 {
        let what = format!("{} objects were not as they had been written", done.damaged);
        return Ok(Err(Reason::Unreadable(what)));
    }
    told(line, load, &done).map(Ok)
}

/// The pages after each huge-page boundary with objects after it. An allocator may have had such a page before the
/// first object.
fn beneath(boundaries: &BTreeSet<usize>) -> Result<Pages, Reason> {
    let mut sum = Pages::default();
    for &boundary in boundaries {
        let start = std::ptr::with_exposed_provenance_mut(boundary);
        sum = sum.plus(&look(start, huge_bytes(), Mapped::Anonymous)?);
    }
    // The allocator may have unmapped parts there.
    sum.absent = 0;
    Ok(sum)
}

/// Adds the metrics. The share of clearing is a lower bound: memory that was freed and allocated again was cleared more
/// than once.
fn told<'a>(line: Line<'a>, load: &Load, done: &Done) -> Result<Line<'a>, Trouble> {
    let rest = load.operations - load.operations / 2;
    let grown = done.grown.map_or(f64::NAN, |held| held.resident as f64);
    let whole = done.whole.as_secs_f64();
    Ok(line
        .metric("operations_per_second", load.operations as f64 / whole)
        .metric(
            "later_operations_per_second",
            rest as f64 / done.second_half.as_secs_f64(),
        )
        .metric("faults_total", done.usage.faults as f64)
        .metric("system_seconds", done.usage.system.as_secs_f64())
        .metric("kernel_ratio", done.usage.system.as_secs_f64() / whole)
        .metric("resident_bytes", grown)
        .metric("zeroing_ratio", grown / clearing_rate()? / whole))
}
