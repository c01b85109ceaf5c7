//! A cell of `bench memory` read the zero page, so its speed is not that of memory.

use serde::Serialize;

use super::super::context::{MissingInput, Told, View};
use super::super::{Kind, Outcome};
use super::cells::of_suite;
use crate::run::cells::Cell;
use crate::run::metric::cells::{CellMetric, PageKind, pages_name};

/// The share of its source from which a cell measured the zero page.
const HALF: f64 = 0.5;
const SOURCE: &str = "source";
const RATE: &str = CellMetric::RateBytesPerSecond.name();

/// Cells of `bench memory` whose source is known.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct ZeroPageSource {
    /// All of them.
    pub reading: usize,
    /// Those that read the zero page.
    pub of_zero_page: usize,
    /// The one that misleads most.
    pub worst: Option<Misread>,
}

/// A cell that measured the zero page.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Misread {
    /// The cell.
    pub cell: String,
    /// Its speed, in bytes per second.
    pub bytes_per_second: f64,
    /// The speed of the same cell over written memory, when the record has it.
    pub written_bytes_per_second: Option<f64>,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    let Some(bench) = of_suite(view.context, "memory") else {
        return Ok(None);
    };
    let shares = bench
        .cells
        .iter()
        .filter_map(|cell| Some((cell, zero_share(view, cell)?)));
    let shares: Vec<(&Cell, f64)> = shares.collect();
    let zero = shares.iter().filter(|(_, share)| *share >= HALF);
    let zero: Result<Vec<Misread>, MissingInput> =
        zero.map(|(cell, _)| misread(view, cell)).collect();
    let zero = zero?;
    let outcome = match (shares.len(), zero.len()) {
        (0, _) => return Ok(None),
        (_, 0) => Outcome::NotShown,
        _ => Outcome::Shown,
    };
    let found = ZeroPageSource {
        reading: shares.len(),
        of_zero_page: zero.len(),
        worst: zero
            .into_iter()
            .max_by(|a, b| a.order().total_cmp(&b.order())),
    };
    Ok(Some((outcome, Kind::ZeroPageSource(found))))
}

fn misread(view: &View<'_, '_>, cell: &Cell) -> Result<Misread, MissingInput> {
    Ok(Misread {
        cell: cell.to_string(),
        bytes_per_second: view.here(cell.reading(RATE))?,
        written_bytes_per_second: over_written(view, cell),
    })
}

impl Misread {
    /// Returns how far it misleads: by how much it is faster, when that is known.
    fn order(&self) -> f64 {
        let written = self.written_bytes_per_second;
        written.map_or(0.0, |written| self.bytes_per_second / written)
    }
}

/// Returns the part of a cell's source that was the zero page; `None` for a cell that reads nothing else than it writes,
/// and when nobody could look.
fn zero_share(view: &View<'_, '_>, cell: &Cell) -> Option<f64> {
    let length = cell.number(2)? as f64 * cell.number(4)? as f64;
    let sum = |kinds: &[PageKind]| -> Option<f64> {
        let names = kinds
            .iter()
            .map(|&kind| cell.reading(&pages_name(SOURCE, kind)));
        let known: Vec<f64> = names.filter_map(|name| view.here(name).ok()).collect();
        (!known.is_empty()).then(|| known.into_iter().sum())
    };
    let zero = sum(&[PageKind::Zero, PageKind::HugeZero]);
    let others = sum(&[PageKind::Small, PageKind::Huge, PageKind::Hugetlb]);
    zero.or(others.map(|_| 0.0)).map(|bytes| bytes / length)
}

/// Returns the speed of the same cell over written memory, if there is one.
fn over_written(view: &View<'_, '_>, cell: &Cell) -> Option<f64> {
    let parts = cell.parts();
    let words = parts.map(|word| if word == "untouched" { "written" } else { word });
    let words: Vec<&str> = words.collect();
    let written = Cell::of(&words).ok().filter(|written| written != cell)?;
    let rate = view.here(written.reading(RATE)).ok()?;
    (rate > 0.0).then_some(rate)
}
