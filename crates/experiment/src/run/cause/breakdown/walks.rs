//! The part of a gain in time that comes from cheaper page walks, when these were counted.

use serde::Serialize;

use super::super::context::View;
use super::super::{Outcome, Pair, coverage};
use super::PartTold;
use crate::run::compare::Change;
use crate::run::metric::MetricId;

/// Page walks beside those of the baseline.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Walks {
    /// Not shown when wall time did not fall.
    pub outcome: Outcome,
    /// Their meaning.
    pub effect: WalksFell,
    /// Data page walks in a typical run.
    pub walks: Pair,
    /// The share of cycles with a data walk under way.
    pub cycles_share: Option<Pair>,
    /// The largest part of the saved cycles that walks can explain.
    pub part_of_gain_at_most: Option<f64>,
}

/// The meaning of a change of page walks.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum WalksFell {
    /// There are fewer.
    Cheaper,
    /// There are as many although more memory was huge: the misses are elsewhere.
    Elsewhere,
}

pub(super) fn of(view: &View<'_, '_>) -> PartTold<Walks> {
    // The rule on translation tells why they were not counted.
    let Ok(_) = view.here(MetricId::DtlbWalksTotal) else {
        return Ok(None);
    };
    let walks = Walks {
        outcome: Outcome::Shown,
        effect: WalksFell::Elsewhere,
        walks: view.both(MetricId::DtlbWalksTotal)?,
        cycles_share: None,
        part_of_gain_at_most: None,
    };
    match view.change(MetricId::DtlbWalksTotal) {
        Some(Change::Lower) => Ok(Some(fewer(view, walks))),
        Some(Change::NoDifference) => {
            let covered = coverage::compare(view)?;
            let is_more = !covered.is_equal && covered.bytes.change() > 0.0;
            Ok(is_more.then_some(walks))
        }
        _ => Ok(None),
    }
}

fn fewer(view: &View<'_, '_>, walks: Walks) -> Walks {
    let is_gain = view.fell(MetricId::WallSeconds);
    let share = view.both(MetricId::DataWalkCyclesRatio).ok();
    let share = share.filter(|_| is_gain);
    let cycles = view.both(MetricId::CyclesTotal).ok();
    let cycles = cycles.filter(|_| view.fell(MetricId::CyclesTotal));
    Walks {
        outcome: Outcome::shown_if(is_gain),
        effect: WalksFell::Cheaper,
        cycles_share: share,
        part_of_gain_at_most: share.zip(cycles).map(|(share, cycles)| part(share, cycles)),
        ..walks
    }
}

fn part(share: Pair, cycles: Pair) -> f64 {
    let saved = (share.baseline * cycles.baseline - share.arm * cycles.arm).max(0.0);
    let gained = -cycles.change();
    match gained > 0.0 {
        true => (saved / gained).min(1.0),
        false => 0.0,
    }
}
