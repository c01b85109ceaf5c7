//! Claims that huge pages made the program larger.
//!
//! Evidence: peak memory decidedly higher under a policy that had more huge memory. A huge page
//! is resident whole when one byte of it is touched. Refuted when no page was huge: then the
//! allocator or the environment of the policy is the cause.
//! Next: `hugewise inspect` for the ranges; max_ptes_none for what khugepaged adds.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::compare::Change;
use crate::report::scale::percent_change;

/// See the module.
#[derive(Debug)]
pub(super) struct MemoryBloat;

impl Rule for MemoryBloat {
    fn id(&self) -> &'static str {
        "memory-bloat"
    }

    fn explain(&self) -> &'static str {
        "Claims that huge pages made the program larger: a huge page is resident whole when one \
         byte of it is touched. Evidence: peak memory is decidedly higher and more of it was huge. \
         Refuted when no more of it was huge; then the policy's allocator or environment is the \
         cause. Next: `hugewise inspect PID` shows which ranges; khugepaged's max_ptes_none \
         decides how much it adds."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    if look.change("peak_rss_bytes") != Some(Change::Higher) {
        return Ok(Said::Nothing);
    }
    let (before, after) = look.both("peak_rss_bytes")?;
    let growth = after - before;
    look.evidence.figure("growth_bytes", growth);
    let (huge_before, huge) = look.both("huge_anon_peak_bytes")?;
    let share = percent_change(after / before - 1.0);
    let lead = format!(
        "{}: peak memory rose by {} ({share} %)",
        look.policy,
        told("peak_rss_bytes", growth)
    );
    Ok(if huge > huge_before {
        Said::Shown(format!(
            "{lead}, with {} huge against {}",
            told("huge_anon_peak_bytes", huge),
            told("huge_anon_peak_bytes", huge_before)
        ))
    } else {
        Said::NotShown(format!("{lead}, but no more was huge: it is not the pages"))
    })
}
