//! Claims that a gain comes from cheaper page walks, or that walks have nothing to do with it.

use super::coverage;
use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;
use crate::text::number::percent;

/// The rule of this module.
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
        "Claims that a gain comes from cheaper page walks, and the largest share of it; or that the TLB \
         misses are not in the memory that became huge. Evidence: the fall of cycles with a data \
         walk under way bounds the share; walks did not change although more memory was huge. \
         Refuted when walks fell and user time did not. Next: sample the addresses of the \
         remaining walks."
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
        "{} data page walks became {}",
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
    let policy = look.policy;
    if look.change(MetricId::WallSeconds) != Some(Change::Lower) {
        return Ok(Said::NotShown(format!(
            "{policy}: fewer page walks, but no significantly lower wall time. {walks}"
        )));
    }
    let Ok((share_before, share)) = look.both(SHARE) else {
        return Ok(Said::Shown(format!(
            "{policy}: fewer page walks explain an unknown part of the gain. {walks}; their cycles were \
             not measured"
        )));
    };
    let shares = format!(
        "cycles with a walk under way fell from {} % to {} %",
        percent(share_before),
        percent(share)
    );
    let (Ok((cycles_before, cycles)), Some(Change::Lower)) =
        (look.both(CYCLES), look.change_by_itself(CYCLES))
    else {
        return Ok(Said::Shown(format!(
            "{policy}: page walks got cheaper. {walks}; {shares}"
        )));
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
        "{policy}: cheaper page walks explain at most {} % of the cycles saved. {walks}; {shares}",
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
        "{}: the TLB misses are not in the memory that became huge. {}; as many data page walks",
        look.policy,
        coverage.text(baseline)
    )))
}
