//! Claims that a gain comes from cheaper page walks, or that walks have nothing to do with it.
//!
//! Evidence: the cycles with a page walk for data, as the share of cycles times the cycles, under
//! the baseline and under the policy; their fall as a share of the fall of all cycles is an
//! upper bound of what cheaper walks gave. Where more memory was huge and the walks did not
//! change, the misses are not in the memory that became huge.
//! Refuted when the walks fell and user time did not. Next: where the walks come from.

use super::coverage;
use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;
use crate::text::number::percent;

/// See the module.
#[derive(Debug)]
pub(super) struct CheaperWalks;

const WALKS: MetricId = MetricId::DtlbWalksTotal;
const SHARE: MetricId = MetricId::DataWalkCyclesRatio;
const CYCLES: MetricId = MetricId::CyclesTotal;

impl Rule for CheaperWalks {
    fn id(&self) -> &'static str {
        "cheaper-walks"
    }

    fn explain(&self) -> &'static str {
        "Claims that a gain comes from cheaper page walks, and how much of it at most; or that the \
         misses are not in the memory that became huge. Evidence: cycles with a walk for data \
         under way, whose fall bounds the part of the gain; walks that did not change although \
         more memory was huge. Refuted when walks fell and user time did not. Next: where the \
         remaining walks come from, by sampling their addresses."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    if look.median_or_missing(WALKS).is_err() {
        // The rule on translation has said why.
        return Ok(Said::Nothing);
    }
    let (before, after) = look.both(WALKS)?;
    let walks = format!(
        "{}: {} page walks for data became {}",
        look.policy,
        told(WALKS, before),
        told(WALKS, after)
    );
    match look.change_by_itself(WALKS) {
        Some(Change::Lower) => fewer(look, &walks),
        Some(Change::NoDifference) => same(look),
        _ => Ok(Said::Nothing),
    }
}

fn fewer(look: &mut Look<'_, '_>, walks: &str) -> Result<Said, Absent> {
    if look.change(MetricId::WallSeconds) != Some(Change::Lower) {
        return Ok(Said::NotShown(format!(
            "{walks}, but wall time did not clearly fall"
        )));
    }
    let Ok((share_before, share)) = look.both(SHARE) else {
        return Ok(Said::Shown(format!(
            "{walks}; how much of the gain that is cannot be told, because their cycles were not \
             measured"
        )));
    };
    let shares = format!(
        "the cycles with one under way from {} % to {} %",
        percent(share_before),
        percent(share)
    );
    let (Ok((cycles_before, cycles)), Some(Change::Lower)) =
        (look.both(CYCLES), look.change_by_itself(CYCLES))
    else {
        return Ok(Said::Shown(format!("{walks}, and {shares}")));
    };
    let saved = (share_before * cycles_before - share * cycles).max(0.0);
    let gained = cycles_before - cycles;
    let part = if gained > 0.0 {
        (saved / gained).min(1.0)
    } else {
        0.0
    };
    look.evidence.figure("walk_share_of_gain_at_most", part);
    Ok(Said::Shown(format!(
        "{walks}, and {shares}: at most {} % of the cycles gained are cheaper walks",
        percent(part)
    )))
}

/// As many walks as before, although more memory was huge.
fn same(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let coverage = coverage::compare(look)?;
    if coverage.is_equal || coverage.here <= coverage.there {
        return Ok(Said::Nothing);
    }
    let baseline = look.ground.baseline();
    Ok(Said::Shown(format!(
        "{}: {}, and there were as many page walks for data: the misses are not in the memory \
         that became huge",
        look.policy,
        coverage.told(baseline)
    )))
}
