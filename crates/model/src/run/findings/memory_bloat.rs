//! Claims that huge pages made the program larger.
//!
//! Evidence: peak memory higher by its own interval, under a policy with at least that much more
//! huge memory. A huge page is resident whole when one byte of it is touched. Refuted when no more
//! was huge: then the allocator or the environment of the policy is the cause, or small folios; and
//! when a policy without huge pages that sets all else alike grew as much.
//! Next: /proc/PID/smaps for the mappings; max_ptes_none for what khugepaged adds.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;
use crate::text::number::percent_change;

const PEAK: MetricId = MetricId::PeakRssBytes;
const HUGE: MetricId = MetricId::HugeAnonPeakBytes;

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
         Refuted when no more of it was huge, or when a policy without huge pages that sets all else \
         alike grew as much; then what else the policy sets is the cause. Next: AnonHugePages in /proc/PID/smaps shows which mappings; khugepaged's max_ptes_none \
         decides how much it adds."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    if look.change_by_itself(PEAK) != Some(Change::Higher) {
        return Ok(Said::Nothing);
    }
    let (before, after) = look.both(PEAK)?;
    let growth = after - before;
    look.evidence.figure("growth_bytes", growth);
    let (huge_before, huge) = look.both(HUGE)?;
    let share = percent_change(after / before - 1.0);
    let lead = format!(
        "{}: peak memory rose by {} ({share} %)",
        look.policy,
        told(PEAK, growth)
    );
    let more = huge - huge_before;
    if more <= 0.0 {
        return Ok(Said::NotShown(format!(
            "{lead}, but no more of it was huge: it is not the huge pages"
        )));
    }
    let lead = format!(
        "{lead}, with {} huge against {}",
        told(HUGE, huge),
        told(HUGE, huge_before)
    );
    let other = look.ground.settings(look.ground.baseline());
    if look.ground.settings(look.policy).is_sibling_of(&other) {
        return Ok(match more < growth {
            true => Said::CannotTell(beyond(&lead)),
            false => Said::Shown(lead),
        });
    }
    beside_sibling(look, &lead, more, growth)
}

fn beyond(lead: &str) -> String {
    format!("{lead}: more than the huge pages can have added")
}

/// What a policy that sets more than pages shows, beside one that sets the rest alike.
fn beside_sibling(
    look: &mut Look<'_, '_>,
    lead: &str,
    more: f64,
    growth: f64,
) -> Result<Said, Absent> {
    let Some(sibling) = sibling(look, more)? else {
        return Ok(Said::CannotTell(match more < growth {
            true => beyond(lead),
            false => format!("{lead}: the huge pages or what else the policy sets"),
        }));
    };
    let without = look.median(&sibling, PEAK)? - look.there(PEAK)?;
    let named = format!("{sibling}, which sets the same but for the huge pages");
    let theirs = growth - without;
    Ok(if is_larger(look, &sibling) && more < theirs {
        Said::CannotTell(beyond(lead))
    } else if is_larger(look, &sibling) {
        look.evidence.figure("growth_beside_sibling_bytes", theirs);
        Said::Shown(format!(
            "{lead}; {} of it more than under {named}",
            told(PEAK, theirs)
        ))
    } else if look.ground.change_by_itself(PEAK, &sibling) == Some(Change::Higher) {
        Said::NotShown(format!(
            "{lead}, and by {} under {named}: it is not the huge pages",
            told(PEAK, without)
        ))
    } else {
        Said::CannotTell(format!(
            "{lead}: whether it is more than under {named}, is not decided"
        ))
    })
}

/// Whether peak memory rose beyond that of another policy, both by their own intervals. Of equal
/// peaks one may be the larger in every round, by a little.
fn is_larger(look: &Look<'_, '_>, other: &str) -> bool {
    let comparison = |policy: &str| look.ground.comparison(PEAK, policy);
    let low = comparison(look.policy).and_then(|it| it.low);
    let high = comparison(other).and_then(|it| it.high);
    let threshold = look.ground.table.verdict.threshold;
    low.zip(high)
        .is_some_and(|(low, high)| low - high > threshold)
}

/// A policy that sets the same but for the huge pages, and has hardly any of them.
fn sibling(look: &mut Look<'_, '_>, more: f64) -> Result<Option<String>, Absent> {
    /// The part of the huge memory in question that it may have.
    const HARDLY: f64 = 0.05;
    let own = look.ground.settings(look.policy);
    let before = look.there(HUGE)?;
    let policies = look.ground.policies().iter();
    let others =
        policies.filter(|other| other.name != look.policy && other.settings.is_sibling_of(&own));
    let huge = others.filter_map(|other| {
        let huge = look.ground.medians.get(&other.name, HUGE).ok()?;
        (huge - before <= more * HARDLY).then_some((huge, &other.name))
    });
    let Some((huge, name)) = huge.min_by(|(one, _), (other, _)| one.total_cmp(other)) else {
        return Ok(None);
    };
    look.evidence.reading(HUGE, name, huge);
    Ok(Some(name.clone()))
}
