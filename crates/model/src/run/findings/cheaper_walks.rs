//! Claims that a gain comes from cheaper page walks, or that walks have nothing to do with it.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::coverage;
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

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    if view.median_or_missing(WALKS).is_err() {
        // The rule on translation has said why.
        return Ok(Claim::Nothing);
    }
    let (before, after) = view.both(WALKS)?;
    let walks = format!(
        "{} data page walks became {}",
        told(WALKS, before),
        told(WALKS, after)
    );
    match view.change(WALKS) {
        Some(Change::Lower) => fewer(view, &walks),
        Some(Change::NoDifference) => same(view),
        _ => Ok(Claim::Nothing),
    }
}

fn fewer(view: &mut PolicyView<'_, '_>, walks: &str) -> Result<Claim, MissingInput> {
    let policy = view.policy;
    if view.change(MetricId::WallSeconds) != Some(Change::Lower) {
        return Ok(Claim::NotShown(format!(
            "{policy}: fewer page walks, but no significantly lower wall time. {walks}"
        )));
    }
    let Ok((share_before, share)) = view.both(SHARE) else {
        return Ok(Claim::Shown(format!(
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
        (view.both(CYCLES), view.change(CYCLES))
    else {
        return Ok(Claim::Shown(format!(
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
    view.evidence.figure("walk_share_of_gain_at_most", part);
    Ok(Claim::Shown(format!(
        "{policy}: cheaper page walks explain at most {} % of the cycles saved. {walks}; {shares}",
        percent(part)
    )))
}

/// As many walks as before, although more memory was huge.
fn same(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let coverage = coverage::compare(view)?;
    if coverage.is_equal || coverage.here <= coverage.there {
        return Ok(Claim::Nothing);
    }
    let baseline = view.context.baseline();
    Ok(Claim::Shown(format!(
        "{}: the TLB misses are not in the memory that became huge. {}; as many data page walks",
        view.policy,
        coverage.text(view.policy, baseline)
    )))
}
