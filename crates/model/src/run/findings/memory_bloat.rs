//! Claims that huge pages made the program larger.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;

const PEAK: MetricId = MetricId::PeakRssBytes;
const HUGE: MetricId = MetricId::HugeAnonPeakBytes;

/// The rule of this module.
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

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    if view.change(PEAK) != Some(Change::Higher) {
        return Ok(Claim::Nothing);
    }
    let (before, after) = view.both(PEAK)?;
    let growth = after - before;
    view.evidence.figure("growth_bytes", growth);
    let (huge_before, huge) = view.both(HUGE)?;
    let lead = format!("peak memory rose by {}", told(PEAK, growth));
    let policy = view.policy;
    let more = huge - huge_before;
    if more <= 0.0 {
        return Ok(Claim::NotShown(format!(
            "{policy}: {lead}, but not by huge pages: no more memory was huge"
        )));
    }
    let amounts = format!(
        "{} were huge, {} under {}",
        told(HUGE, huge),
        told(HUGE, huge_before),
        view.context.baseline()
    );
    let lead = format!("{policy}: {lead}");
    let other = view.context.settings(view.context.baseline());
    if view.context.settings(view.policy).is_sibling_of(&other) {
        return Ok(match more < growth {
            true => Claim::CannotTell(format!("{}. {amounts}", beyond(&lead))),
            false => Claim::Shown(format!("{lead} through huge pages. {amounts}")),
        });
    }
    beside_sibling(view, &lead, &amounts, more, growth)
}

fn beyond(lead: &str) -> String {
    format!("{lead}, more than huge pages can have added")
}

/// What a policy that sets more than pages shows, beside one that sets the rest alike.
fn beside_sibling(
    view: &mut PolicyView<'_, '_>,
    lead: &str,
    amounts: &str,
    more: f64,
    growth: f64,
) -> Result<Claim, MissingInput> {
    let Some(sibling) = sibling(view, more)? else {
        return Ok(Claim::CannotTell(match more < growth {
            true => format!("{}. {amounts}", beyond(lead)),
            false => format!("{lead}, through huge pages or what else the policy sets. {amounts}"),
        }));
    };
    let without = view.median(&sibling, PEAK)? - view.there(PEAK)?;
    let named = format!("{sibling} (the same without huge pages)");
    let theirs = growth - without;
    Ok(if is_larger(view, &sibling) && more < theirs {
        Claim::CannotTell(format!("{}. {amounts}", beyond(lead)))
    } else if is_larger(view, &sibling) {
        view.evidence.figure("growth_beside_sibling_bytes", theirs);
        Claim::Shown(format!(
            "{lead}, {} of it through huge pages. Compared with {named}; {amounts}",
            told(PEAK, theirs)
        ))
    } else if view.context.change(PEAK, &sibling) == Some(Change::Higher) {
        Claim::NotShown(format!(
            "{lead}, but not by huge pages. It rose by {} under {named}; {amounts}",
            told(PEAK, without)
        ))
    } else {
        Claim::CannotTell(format!(
            "{lead}, perhaps not by huge pages. The difference from {named} is not decided; {amounts}"
        ))
    })
}

/// Whether peak memory rose beyond that of another policy, both by their own intervals. Of equal
/// peaks one may be the larger in every round, by a little.
fn is_larger(view: &PolicyView<'_, '_>, other: &str) -> bool {
    let comparison = |policy: &str| view.context.comparison(PEAK, policy);
    let low = comparison(view.policy).and_then(|it| it.low);
    let high = comparison(other).and_then(|it| it.high);
    let threshold = view.context.table.verdict.threshold;
    low.zip(high)
        .is_some_and(|(low, high)| low - high > threshold)
}

/// A policy that sets the same but for the huge pages, and has hardly any of them.
fn sibling(view: &mut PolicyView<'_, '_>, more: f64) -> Result<Option<String>, MissingInput> {
    /// The part of the huge memory in question that it may have.
    const HARDLY: f64 = 0.05;
    let own = view.context.settings(view.policy);
    let before = view.there(HUGE)?;
    let policies = view.context.policies().iter();
    let others =
        policies.filter(|other| other.name != view.policy && other.settings.is_sibling_of(&own));
    let huge = others.filter_map(|other| {
        let huge = view.context.medians.get(&other.name, HUGE).ok()?;
        (huge - before <= more * HARDLY).then_some((huge, &other.name))
    });
    let Some((huge, name)) = huge.min_by(|(one, _), (other, _)| one.total_cmp(other)) else {
        return Ok(None);
    };
    view.evidence.reading(HUGE, name, huge);
    Ok(Some(name.clone()))
}
