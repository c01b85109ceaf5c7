//! What rules ask of the cells of a bench.

use crate::run::cells::{Bench, Cell};
use crate::run::compare::medians::arm_trials;
use crate::run::findings::ground::{Absent, Ground, Look};
use crate::run::metric::cells::{PageKind, pages_of};

/// The bench of an experiment, where it is one of that suite.
pub(super) fn of_suite<'a>(ground: &Ground<'a>, suite: &str) -> Option<&'a Bench> {
    let bench = ground.record.header.plan.bench.as_ref();
    bench.filter(|bench| bench.suite == suite)
}

/// A metric of each cell under the policy that is looked at, with the cell.
pub(super) fn each<'b>(
    look: &mut Look<'_, '_>,
    cells: impl Iterator<Item = &'b Cell>,
    metric: &str,
) -> Result<Vec<(&'b Cell, f64)>, Absent> {
    let read = |cell: &'b Cell| Ok((cell, look.here(cell.reading(metric))?));
    cells.map(read).collect()
}

/// The cell with the largest value.
pub(super) fn largest<'b>(values: &[(&'b Cell, f64)]) -> Option<(&'b Cell, f64)> {
    let largest = values.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    largest.copied()
}

/// From this share of its time on a part of a program is worth looking at.
const GOOD_PART: f64 = 0.1;

/// The largest share of a part of the time, over the cells of `bench slab`.
pub(super) struct Part {
    /// Whether it is worth looking at.
    pub(super) is_good: bool,
    /// How large it is, and where.
    pub(super) text: String,
}

/// What `metric`, the `name` share of the time, is in the cells of `bench slab`; `None` in other
/// experiments.
pub(super) fn largest_part(
    look: &mut Look<'_, '_>,
    name: &str,
    metric: &str,
) -> Result<Option<Part>, Absent> {
    let Some(bench) = of_suite(look.ground, "slab") else {
        return Ok(None);
    };
    let shares = each(look, bench.cells.iter(), metric)?;
    Ok(largest(&shares).map(|(cell, share)| Part {
        is_good: share >= GOOD_PART,
        text: format!(
            "{}: the {name} share is {} with {}, the largest of its cells",
            look.policy,
            percent(share),
            cell.part(0).unwrap_or_default()
        ),
    }))
}

/// The part of a buffer that huge pages mapped, of all that was known of it.
pub(super) fn huge_share(look: &Look<'_, '_>, cell: &Cell, buffer: &str) -> Option<f64> {
    let prefix = cell.reading("");
    let trial = arm_trials(look.ground.record, look.policy).next()?;
    let names = trial.readings.keys();
    let (mut huge, mut all) = (0.0, 0.0);
    for name in names {
        let Some((of, kind)) = name.strip_prefix(&prefix).and_then(pages_of) else {
            continue;
        };
        if of == buffer {
            let bytes = look.median_or_missing(name).ok()?;
            all += bytes;
            huge += if kind == PageKind::Huge { bytes } else { 0.0 };
        }
    }
    (all > 0.0).then(|| huge / all)
}

/// A share as people read it.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        whole if whole >= 10.0 || whole == 0.0 => format!("{whole:.0} %"),
        part => format!("{part:.1} %"),
    }
}
