//! Claims that khugepaged made resident what a program never touched, or had given back.
//!
//! Evidence: peak memory higher by its own interval, huge pages made by khugepaged meanwhile, a
//! `max_ptes_none` that lets it fill gaps, and too few huge faults to be the cause themselves. Its
//! counter speaks of the whole machine. Refuted when the allocator says that it holds as much
//! more. Next: `khugepaged.max_ptes_none=0`, which also lets the shrinker of Linux 6.12 take such
//! pages apart (thp_underused, mm/huge_memory.c).

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;
use crate::text::number::percent_change;

/// See the module.
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
    let lead = format!(
        "{}: khugepaged made {} huge pages on the machine",
        look.policy,
        told(COLLAPSED, collapsed)
    );
    let Some(gaps) = gaps(look) else {
        return Ok(Said::CannotTell(format!(
            "{lead}; whether it may fill gaps is not known (max_ptes_none)"
        )));
    };
    look.evidence.figure("max_ptes_none", gaps);
    let (before, after) = look.both(PEAK)?;
    if gaps == 0 || look.change_by_itself(PEAK) != Some(Change::Higher) {
        return Ok(Said::NotShown(match gaps {
            0 => format!("{lead}, and may fill no gap (max_ptes_none=0)"),
            _ => format!("{lead}, and peak memory is not decidedly larger"),
        }));
    }
    let growth = after - before;
    look.evidence.figure("growth_bytes", growth);
    let lead = format!(
        "{lead}, each with up to {gaps} pages that nothing was in (max_ptes_none), and peak memory \
         rose by {} ({} %)",
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
    // The rest of the program is not of one size either.
    if (collapsed + 1.0) * huge_page < growth {
        return Ok(Said::CannotTell(format!(
            "{lead}: more than khugepaged can have filled"
        )));
    }
    if (here - there) * huge_page >= growth {
        return Ok(Said::CannotTell(format!(
            "{lead}: the {} huge pages that were made at faults may have done it too",
            told(FAULTED, here)
        )));
    }
    Ok(Said::Shown(format!(
        "{lead}, for which {} huge pages made at faults are too few: memory that the program did \
         not hold became resident; khugepaged.max_ptes_none=0 keeps khugepaged from it",
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
