//! Claims that huge pages made the program larger.
//!
//! Evidence: peak memory higher by its own interval, under a policy with at least that much more
//! huge memory. A huge page is resident whole when one byte of it is touched. Refuted when no more
//! was huge: then the allocator or the environment of the policy is the cause, or small folios.
//! Next: /proc/PID/smaps for the mappings; max_ptes_none for what khugepaged adds.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::compare::Change;
use crate::policy::{Malloc, Settings};
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
         byte of it is touched. Evidence: peak memory is higher by its own interval, and at least that much more was huge. \
         Refuted when no more of it was huge; then the policy's allocator or environment is the \
         cause. Next: AnonHugePages in /proc/PID/smaps shows which mappings; khugepaged's max_ptes_none \
         decides how much it adds."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    if look.change_by_itself("peak_rss_bytes") != Some(Change::Higher) {
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
    let more = huge - huge_before;
    let amounts = format!(
        "with {} huge against {}",
        told("huge_anon_peak_bytes", huge),
        told("huge_anon_peak_bytes", huge_before)
    );
    Ok(if more <= 0.0 {
        Said::NotShown(format!(
            "{lead}, but no more of it was huge: it is not the huge pages"
        ))
    } else if more < growth {
        Said::CannotTell(format!(
            "{lead}, {amounts}: more than the huge pages can have added"
        ))
    } else if acts_otherwise(look) {
        Said::CannotTell(format!(
            "{lead}, {amounts}: the huge pages or the allocator and variables of the policy"
        ))
    } else {
        Said::Shown(format!("{lead}, {amounts}"))
    })
}

/// Whether a policy sets what can make a program larger without any huge page. What
/// `malloc=thp` sets only advises the heap.
fn acts_otherwise(look: &Look<'_, '_>) -> bool {
    let here = look.ground.settings(look.policy);
    let there = look.ground.settings(look.ground.baseline());
    let heap = |settings: &Settings| match settings.malloc.unwrap_or_default() {
        Malloc::Thp => Malloc::Default,
        other => other,
    };
    here.env != there.env || heap(&here) != heap(&there)
}
