//! One part of the time is a large share of it: page faults, or zeroing.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{Kind, Outcome};
use super::cells::{each, largest, of_suite};
use crate::run::metric::cells::CellMetric;

/// The share of its time from which a part of a program is worth looking at.
const GOOD_PART: f64 = 0.1;

/// The largest share of a part of the time, over the cells of `bench slab`.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct LargeShare {
    /// The share of kernel time, or of zeroing.
    pub share: f64,
    /// The kind of the cell with this share.
    pub cell: String,
}

/// Kernel time bounds page faults from above, as it contains zeroing.
pub(in super::super) fn page_faults(view: &View<'_, '_>) -> Told {
    largest_part(view, CellMetric::KernelRatio)
}

/// Zeroing is an estimate from below, unless memory went back and came again.
pub(in super::super) fn zeroing(view: &View<'_, '_>) -> Told {
    largest_part(view, CellMetric::ZeroingRatio)
}

fn largest_part(view: &View<'_, '_>, metric: CellMetric) -> Told {
    let Some(bench) = of_suite(view.context, "slab") else {
        return Ok(None);
    };
    let shares = each(view, bench.cells.iter(), metric.name())?;
    Ok(largest(&shares).map(|(cell, share)| {
        let outcome = Outcome::shown_if(share >= GOOD_PART);
        let cell = cell.part(0).unwrap_or_default().to_owned();
        (outcome, Kind::LargeShare(LargeShare { share, cell }))
    }))
}
