//! Claims that khugepaged made resident what a program never touched, or had given back.

use super::ground::{Absent, Ground, Look, Said, told};
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

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    // Where khugepaged made nothing, or that was not read, there is no question.
    let collapsed = look.median_or_missing(COLLAPSED).unwrap_or(0.0);
    let (Some(huge_page), true) = (look.ground.host().pmd_bytes(), collapsed > 0.0) else {
        return Ok(Said::Nothing);
    };
    look.noted(COLLAPSED, collapsed);
    let policy = look.policy;
    let lead = format!(
        "khugepaged made {} huge pages machine-wide",
        told(COLLAPSED, collapsed)
    );
    let Some(gaps) = gaps(look) else {
        return Ok(Said::CannotTell(format!(
            "{policy}: khugepaged may have filled gaps. {lead}; max_ptes_none is unknown"
        )));
    };
    look.evidence.figure("max_ptes_none", gaps);
    let (before, after) = look.both(PEAK)?;
    if gaps == 0 || look.change_by_itself(PEAK) != Some(Change::Higher) {
        return Ok(Said::NotShown(match gaps {
            0 => format!("{policy}: khugepaged may fill no gaps (max_ptes_none=0). {lead}"),
            _ => format!("{policy}: peak memory is not significantly higher. {lead}"),
        }));
    }
    let growth = after - before;
    look.evidence.figure("growth_bytes", growth);
    let lead = format!(
        "{lead}, each with up to {gaps} empty pages (max_ptes_none); peak memory rose by {} ({} %)",
        told(PEAK, growth),
        percent_change(after / before - 1.0)
    );
    verdict(look, &lead, growth, collapsed, huge_page as f64)
}

/// Whether what khugepaged may have filled is enough for the growth, and nothing else is.
fn verdict(
    look: &mut Look<'_, '_>,
    lead: &str,
    growth: f64,
    collapsed: f64,
    huge_page: f64,
) -> Result<Said, Absent> {
    let (there, here) = look.both(FAULTED)?;
    let policy = look.policy;
    // The rest of the program is not of one size either.
    if (collapsed + 1.0) * huge_page < growth {
        return Ok(Said::CannotTell(format!(
            "{policy}: peak memory rose by more than khugepaged can have filled. {lead}"
        )));
    }
    if (here - there) * huge_page >= growth {
        return Ok(Said::CannotTell(format!(
            "{policy}: khugepaged or huge faults raised peak memory. {lead}; the {} huge pages allocated \
             at fault time could also explain it",
            told(FAULTED, here)
        )));
    }
    Ok(Said::Shown(format!(
        "{policy}: khugepaged made untouched memory resident; max_ptes_none=0 prevents it. {lead}, for \
         which the {} huge pages allocated at fault time are too few",
        told(FAULTED, here)
    )))
}

/// Base pages without content that khugepaged may fill in one huge page, under the policy.
fn gaps(look: &Look<'_, '_>) -> Option<u64> {
    const SETTING: &str = "max_ptes_none";
    let own = look.ground.settings(look.policy).khugepaged;
    let machine = look.ground.host().thp.as_ref().ok();
    let here = machine.and_then(|thp| thp.khugepaged.get(SETTING));
    own.get(SETTING).or(here).copied()
}
