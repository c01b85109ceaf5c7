//! Claims that a policy is slower because the kernel compacted and reclaimed memory while the
//! program waited for it.
//!
//! Evidence: wall time decidedly higher, and the time in direct compaction and reclaim of the
//! workload's own tree is higher by at least a tenth of the loss, in medians. Refuted when it is
//! not: the loss then lies elsewhere. Threads stall side by side, so that the stalls may exceed
//! the loss.
//! Next: defrag=defer or defer+madvise, which leaves that work to the kernel's own threads; or
//! measure again with free huge blocks.

use super::ground::{Absent, Ground, Look, Said, label, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;

/// See the module.
#[derive(Debug)]
pub(super) struct StallsExplainLoss;

/// Work on memory that an allocation does itself when nothing fit is free.
const STALLS: [MetricId; 3] = [
    MetricId::DirectCompactionSeconds,
    MetricId::DirectReclaimSeconds,
    MetricId::CgroupReclaimSeconds,
];

/// Share of the loss from which on stalls are a cause worth naming.
const WORTH: f64 = 0.1;

impl Rule for StallsExplainLoss {
    fn id(&self) -> &'static str {
        "stalls-explain-loss"
    }

    fn explain(&self) -> &'static str {
        "Claims that a policy is slower because the kernel compacted and reclaimed memory while \
         the program waited for it. Evidence: wall time is decidedly higher, and the time in direct \
         compaction and reclaim of the workload's own tree rose by at least a tenth of the loss. \
         Refuted when it did not: the loss then lies elsewhere. Next: defrag=defer or \
         defer+madvise, which leaves that work to the kernel's own threads; or measure again with \
         free huge blocks."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    if look.change(MetricId::WallSeconds) != Some(Change::Higher) {
        return Ok(Said::Nothing);
    }
    let (wall_before, wall) = look.both(MetricId::WallSeconds)?;
    let loss = wall - wall_before;
    let risen = risen(look)?;
    let Some(risen) = risen.filter(|_| loss > 0.0) else {
        return Ok(Said::Nothing);
    };
    let stalled: f64 = risen.iter().map(|(_, seconds)| seconds).sum();
    look.evidence.figure("stalls_share_of_loss", stalled / loss);
    let lead = format!(
        "{}: {} were lost",
        look.policy,
        told(MetricId::WallSeconds, loss)
    );
    if stalled < WORTH * loss {
        return Ok(Said::NotShown(format!(
            "{lead}, and hardly any of it in compaction or reclaim"
        )));
    }
    let list: Vec<String> = risen
        .iter()
        .filter(|(_, seconds)| *seconds > 0.0)
        .map(|(metric, seconds)| format!("{} {}", told(*metric, *seconds), label(*metric)))
        .collect();
    Ok(Said::Shown(format!(
        "{lead}, and the program spent {} more, for allocations of its own: the kernel had \
         nothing fit free; defrag=defer leaves that work to its own threads",
        list.join(", ")
    )))
}

/// By how much each stall that was timed rose; `None` where none was timed under both policies.
fn risen(look: &mut Look<'_, '_>) -> Result<Option<Vec<(MetricId, f64)>>, Absent> {
    let mut risen = Vec::new();
    for metric in STALLS {
        let baseline = look.ground.medians.get(look.ground.baseline(), metric);
        if baseline.is_ok() && look.median_or_missing(metric).is_ok() {
            let (before, after) = look.both(metric)?;
            risen.push((metric, after - before));
        }
    }
    Ok((!risen.is_empty()).then_some(risen))
}
