//! Claims that a cell of `bench memory` read the zero page, so that its speed is none of memory.
//!
//! Evidence: the kernel's own account of what lay under what was read, once it was measured: half of
//! it or more was the shared zero page or the shared huge one. Where the record has the same cell
//! over written memory, how much faster it looked. Refuted by an account of other pages. Next: write
//! what is read before it is measured.

use super::cells::{of_suite, percent};
use super::ground::{Absent, Ground, Look, Said};
use super::{Finding, Rule};
use crate::bench::Cell;
use crate::bench::metric::{PageKind, pages_name};
use crate::metric::Unit;
use crate::report::scale::quantity;

/// See the module.
#[derive(Debug)]
pub(super) struct ZeroPageSource;

impl Rule for ZeroPageSource {
    fn id(&self) -> &'static str {
        "zero-page-source"
    }

    fn explain(&self) -> &'static str {
        "Claims that a cell read the zero page: one page of zeroes, small or huge, that the kernel maps \
         for memory that was never written, and that stays in a cache. Its speed is none of memory. \
         Evidence: what lay under the source once it was measured, as the kernel tells it. Refuted \
         by other pages there. Next: write the source first; compare with the same cell over \
         written memory."
    }

    fn explains_programs(&self) -> bool {
        false
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_all(self, ask)
    }
}

/// From this share of its source on, a cell measured the zero page.
const HALF: f64 = 0.5;
const SOURCE: &str = "source";
const RATE: &str = "rate_bytes_per_second";

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let Some(bench) = of_suite(look.ground, "memory") else {
        return Ok(Said::Nothing);
    };
    let mut reading = 0;
    let mut zero: Vec<(&Cell, f64)> = Vec::new();
    for cell in &bench.cells {
        let Some(share) = zero_share(look, cell) else {
            continue;
        };
        reading += 1;
        if share >= HALF {
            zero.push((cell, look.here(&cell.reading(RATE))?));
        }
    }
    let policy = look.policy;
    let Some(&(cell, rate)) = zero.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Ok(match reading {
            0 => Said::Nothing,
            _ => Said::NotShown(format!("{policy}: no cell read the zero page")),
        });
    };
    Ok(Said::Shown(format!(
        "{policy}: {} of {reading} cells with a source read the zero page, which stays in a cache; {} in \
         {cell} is no speed of memory{}",
        zero.len(),
        quantity(&Unit::BytesPerSecond, rate),
        beside_written(look, cell, rate)
    )))
}

/// The part of what a cell reads that was the zero page; `None` of a cell that reads nothing else
/// than it writes, and where nobody could look.
fn zero_share(look: &mut Look<'_, '_>, cell: &Cell) -> Option<f64> {
    let length = cell.number(2)? as f64 * cell.number(4)? as f64;
    let mut sum = |kinds: &[PageKind]| -> Option<f64> {
        let names = kinds
            .iter()
            .map(|&kind| cell.reading(&pages_name(SOURCE, kind)));
        let known: Vec<f64> = names
            .filter_map(|name| {
                let bytes = look.median_or_missing(&name).ok()?;
                Some(look.noted(&name, bytes))
            })
            .collect();
        (!known.is_empty()).then(|| known.into_iter().sum())
    };
    let zero = sum(&[PageKind::Zero, PageKind::HugeZero]);
    let others = sum(&[PageKind::Small, PageKind::Huge, PageKind::Hugetlb]);
    zero.or(others.map(|_| 0.0)).map(|bytes| bytes / length)
}

/// How the same cell over written memory compares, where there is one.
fn beside_written(look: &mut Look<'_, '_>, cell: &Cell, rate: f64) -> String {
    let words: Vec<&str> = cell
        .parts()
        .map(|word| if word == "untouched" { "written" } else { word })
        .collect();
    let written = Cell::of(&words).ok().filter(|written| written != cell);
    let written = written.and_then(|written| look.here(&written.reading(RATE)).ok());
    match written {
        Some(written) if written > 0.0 => format!(
            ": written memory gives {}, {} of that",
            quantity(&Unit::BytesPerSecond, written),
            percent(written / rate)
        ),
        _ => String::new(),
    }
}
