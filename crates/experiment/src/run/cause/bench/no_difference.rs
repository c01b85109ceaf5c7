//! An arm makes no difference in any cell of a bench, within a bound.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{Kind, Outcome};
use crate::run::compare::Change;

/// A larger bound says nothing.
const WIDEST: f64 = 0.10;

/// The cells of a bench beside those of the baseline.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct NoDifference {
    /// All cells.
    pub cells: usize,
    /// Cells that differ.
    pub differ: usize,
    /// The widest end of all intervals, as a share of the baseline.
    pub bound: f64,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
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
        let row = view
            .context
            .comparison(&name, view.arm)
            .filter(|row| row.ratio.is_some());
        let Some((low, high)) = row.and_then(|row| row.low.zip(row.high)) else {
            return Ok(None);
        };
        view.both(&name)?;
        let differs = matches!(view.change(&name), Some(Change::Lower | Change::Higher));
        found.differ += usize::from(differs);
        found.bound = found.bound.max((low - 1.0).abs()).max((high - 1.0).abs());
    }
    let outcome = match () {
        () if found.differ > 0 => Outcome::NotShown,
        () if found.bound <= WIDEST => Outcome::Shown,
        () => Outcome::CannotTell,
    };
    Ok(Some((outcome, Kind::NoDifference(found))))
}
