//! Claims that khugepaged made resident what a program never touched, or had given back.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;
use crate::text::number::percent_change;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct KhugepagedFilledGaps;

const COLLAPSED: MetricId = MetricId::KhugepagedCollapsedTotal;
const PEAK: MetricId = MetricId::PeakRssBytes;
const FAULTED: MetricId = MetricId::ThpFaultAllocTotal;

impl Rule for KhugepagedFilledGaps {
    fn id(&self) -> &'static str {
        "khugepaged-filled-gaps"
    }

    fn explain(&self) -> &'static str {
        "Claims that khugepaged made resident what the program never touched, or had given back to \
         the kernel. Evidence: peak memory is higher by its own interval, khugepaged made huge \
         pages meanwhile and may fill gaps (max_ptes_none), and the huge pages made at faults are too few to be the cause. \
         Its counter speaks of the whole machine. Refuted when the program's allocator says that \
         it holds as much more: give its figure by --metric. Next: a policy with \
         khugepaged.max_ptes_none=0, or MADV_NOHUGEPAGE on memory that is used sparsely."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    // Where khugepaged made nothing, or that was not read, there is no question.
    let collapsed = view.median_or_missing(COLLAPSED).unwrap_or(0.0);
    let (Some(huge_page), true) = (view.context.host().pmd_bytes(), collapsed > 0.0) else {
        return Ok(Claim::Nothing);
    };
    view.noted(COLLAPSED, collapsed);
    let policy = view.policy;
    let lead = format!(
        "khugepaged made {} huge pages machine-wide",
        told(COLLAPSED, collapsed)
    );
    let Some(gaps) = gaps(view) else {
        return Ok(Claim::CannotTell(format!(
            "{policy}: khugepaged may have filled gaps. {lead}; max_ptes_none is unknown"
        )));
    };
    view.evidence.figure("max_ptes_none", gaps);
    let (before, after) = view.both(PEAK)?;
    if gaps == 0 || view.change(PEAK) != Some(Change::Higher) {
        return Ok(Claim::NotShown(match gaps {
            0 => format!("{policy}: khugepaged may fill no gaps (max_ptes_none=0). {lead}"),
            _ => format!("{policy}: peak memory is not significantly higher. {lead}"),
        }));
    }
    let growth = after - before;
    view.evidence.figure("growth_bytes", growth);
    let lead = format!(
        "{lead}, each with up to {gaps} empty pages (max_ptes_none); peak memory rose by {} ({} %)",
        told(PEAK, growth),
        percent_change(after / before - 1.0)
    );
    verdict(view, &lead, growth, collapsed, huge_page as f64)
}

/// Whether what khugepaged may have filled is enough for the growth, and nothing else is.
fn verdict(
    view: &mut PolicyView<'_, '_>,
    lead: &str,
    growth: f64,
    collapsed: f64,
    huge_page: f64,
) -> Result<Claim, MissingInput> {
    let (there, here) = view.both(FAULTED)?;
    let policy = view.policy;
    // The rest of the program is not of one size either.
    if (collapsed + 1.0) * huge_page < growth {
        return Ok(Claim::CannotTell(format!(
            "{policy}: peak memory rose by more than khugepaged can have filled. {lead}"
        )));
    }
    if (here - there) * huge_page >= growth {
        return Ok(Claim::CannotTell(format!(
            "{policy}: khugepaged or huge faults raised peak memory. {lead}; the {} huge pages allocated \
             at fault time could also explain it",
            told(FAULTED, here)
        )));
    }
    Ok(Claim::Shown(format!(
        "{policy}: khugepaged made untouched memory resident; max_ptes_none=0 prevents it. {lead}, for \
         which the {} huge pages allocated at fault time are too few",
        told(FAULTED, here)
    )))
}

/// Base pages without content that khugepaged may fill in one huge page, under the policy.
fn gaps(view: &PolicyView<'_, '_>) -> Option<u64> {
    const SETTING: &str = "max_ptes_none";
    let own = view.context.settings(view.policy).khugepaged;
    let machine = view.context.host().thp.as_ref().ok();
    let here = machine.and_then(|thp| thp.khugepaged.get(SETTING));
    own.get(SETTING).or(here).copied()
}
