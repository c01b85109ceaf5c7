//! Readings of the cells of a bench.

use super::super::context::{Context, MissingInput, View};
use crate::run::cells::{Bench, Cell};
use crate::run::compare::medians::arm_trials;
use crate::run::metric::cells::{PageKind, pages_of};

/// Returns the bench of an experiment, if it is one of that suite.
pub(super) fn of_suite<'a>(context: &Context<'a>, suite: &str) -> Option<&'a Bench> {
    let bench = context.record.header.plan.bench.as_ref();
    bench.filter(|bench| bench.suite == suite)
}

/// Returns a metric of each cell under the arm, with the cell.
pub(super) fn each<'b>(
    view: &View<'_, '_>,
    cells: impl Iterator<Item = &'b Cell>,
    metric: &str,
) -> Result<Vec<(&'b Cell, f64)>, MissingInput> {
    let read = |cell: &'b Cell| Ok((cell, view.here(cell.reading(metric))?));
    cells.map(read).collect()
}

/// Returns the cell with the largest value.
pub(super) fn largest<'b>(values: &[(&'b Cell, f64)]) -> Option<(&'b Cell, f64)> {
    let largest = values.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    largest.copied()
}

/// Returns the part of a buffer that huge pages mapped, of all that is known about it.
pub(super) fn huge_share(view: &View<'_, '_>, cell: &Cell, buffer: &str) -> Option<f64> {
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
