//! Claims how much of the memory in use a policy made huge while the program ran.

use std::collections::BTreeMap;

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::reached_by_tracing::not_reached;
use super::{Finding, Rule};
use crate::base::units::Unit;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::stats::median;
use crate::run::trial::{Collapsing, Tracing};
use crate::text::number::{counted, quantity};

/// The rule of this module.
#[derive(Debug)]
pub(super) struct CollapsedLater;

impl Rule for CollapsedLater {
    fn id(&self) -> &'static str {
        "collapsed-later"
    }

    fn explain(&self) -> &'static str {
        "Claims that collapse= made memory huge that the program had in use: one thread at a time was \
         stopped and made to call madvise(MADV_COLLAPSE). Its times include these stops, in which its \
         other threads run on. Evidence: the calls, the bytes that were huge afterwards, and how long \
         threads stood. Refuted by memory that was huge without it. Next: an earlier time, or \
         `hugewise inspect -p PID` for the reason of a refusal."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_all(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let record = view.context.record;
    let tracings: Vec<&Tracing> = arm_trials(record, view.policy)
        .filter_map(|trial| trial.read_back.tracing.as_ref())
        .collect();
    let seen = collapsings(view);
    let typical = |figure: fn(&Collapsing) -> u64| {
        let figures: Vec<f64> = seen.iter().map(|it| figure(it) as f64).collect();
        median(&figures)
    };
    let Some((bytes, calls)) = typical(|it| it.bytes).zip(typical(|it| it.calls)) else {
        return Ok(Claim::Nothing);
    };
    view.evidence.reading("collapsed_bytes", view.policy, bytes);
    view.evidence.reading("collapse_calls", view.policy, calls);
    let policy = view.policy;
    let beyond = not_reached(&tracings);
    if bytes == 0.0 {
        let why = nothing(&seen);
        return Ok(Claim::NotShown(format!(
            "{policy}: made nothing huge, because {why}{beyond}"
        )));
    }
    let seconds = |figure| typical(figure).unwrap_or_default() / 1e9;
    let held = seconds(|it| it.held_ns);
    view.evidence.reading("collapse_held_seconds", policy, held);
    Ok(Claim::Shown(format!(
        "{policy}: made {} huge that the program had in use. {} a run, for which one thread at a time \
         stood {} in all, {} at the longest{}{beyond}",
        quantity(&Unit::Bytes, bytes),
        counted(calls.round() as u64, "call"),
        told(MetricId::WallSeconds, held),
        told(MetricId::WallSeconds, seconds(|it| it.longest_ns)),
        refused(&seen),
    )))
}

fn collapsings<'a>(view: &PolicyView<'_, 'a>) -> Vec<&'a Collapsing> {
    let trials = arm_trials(view.context.record, view.policy);
    trials
        .filter_map(|trial| trial.read_back.tracing.as_ref()?.collapsing.as_ref())
        .collect()
}

/// Why a policy that makes memory huge later made nothing huge; `None` for any other policy.
pub(super) fn why_nothing(view: &PolicyView<'_, '_>) -> Option<String> {
    let seen = collapsings(view);
    let is_nothing = !seen.is_empty() && seen.iter().all(|it| it.bytes == 0);
    is_nothing.then(|| nothing(&seen))
}

/// Why nothing became huge.
fn nothing(seen: &[&Collapsing]) -> String {
    if seen.iter().all(|it| it.passes == 0) {
        "the program ended before that time".to_owned()
    } else if seen.iter().all(|it| it.calls == 0) {
        "no small page was in use in a private anonymous range of at least one huge page".to_owned()
    } else {
        let errors: Vec<String> = errors(seen).into_keys().collect();
        format!("the kernel refused it ({})", errors.join(", "))
    }
}

/// What was refused, by error, over all trials.
fn errors(seen: &[&Collapsing]) -> BTreeMap<String, u64> {
    let mut sum = BTreeMap::new();
    for (error, bytes) in seen.iter().flat_map(|it| &it.refused) {
        *sum.entry(error.clone()).or_default() += bytes;
    }
    sum
}

fn refused(seen: &[&Collapsing]) -> String {
    let each = errors(seen).into_iter().map(|(error, bytes)| {
        let mean = bytes as f64 / seen.len() as f64;
        format!("{error} for {}", quantity(&Unit::Bytes, mean))
    });
    let each: Vec<String> = each.collect();
    match each.is_empty() {
        true => String::new(),
        false => format!(". Refused: {}", each.join(", ")),
    }
}
