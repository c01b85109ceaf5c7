//! What a policy made huge while the program ran: memory, or code.

use std::collections::BTreeMap;

use super::context::{Claim, MissingInput, PolicyView, told};
use super::reached_by_tracing::not_reached;
use crate::base::units::Unit;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::stats::median;
use crate::run::trial::{Collapsing, Tracing};
use crate::text::number::{self, quantity};

/// What is made huge while a program runs.
#[derive(Debug)]
pub(super) struct Kind {
    /// What was done to it.
    pub(super) counted: fn(&Tracing) -> Option<&Collapsing>,
    /// How the figures of the evidence begin.
    pub(super) evidence: [&'static str; 3],
    /// What was done, around the bytes.
    pub(super) made: [&'static str; 2],
    /// Where nothing was.
    pub(super) made_nothing: &'static str,
    /// How often it was done.
    pub(super) each: &'static str,
    /// Why there was nothing to do.
    pub(super) nothing_there: &'static str,
}

/// Memory, under `collapse=`.
pub(super) const MEMORY: Kind = Kind {
    counted: |tracing| tracing.collapsing.as_ref(),
    evidence: ["collapsed_bytes", "collapse_calls", "collapse_held_seconds"],
    made: ["made", "huge that the program had in use"],
    made_nothing: "made nothing huge",
    each: "call",
    nothing_there: "no small page was in use in a private anonymous range of at least one huge page",
};

/// Code, under `text=huge`.
pub(super) const CODE: Kind = Kind {
    counted: |tracing| tracing.text.as_ref(),
    evidence: ["code_bytes", "code_stops", "code_held_seconds"],
    made: ["copied", "of the program's code into huge pages"],
    made_nothing: "put no code into huge pages",
    each: "stop",
    nothing_there: "no huge page fits into the code in use, or it was huge already",
};

/// What became huge of a kind, and what that took.
pub(super) fn claim(view: &mut PolicyView<'_, '_>, kind: &Kind) -> Result<Claim, MissingInput> {
    let record = view.context.record;
    let tracings: Vec<&Tracing> = arm_trials(record, view.policy)
        .filter_map(|trial| trial.read_back.tracing.as_ref())
        .collect();
    let seen = counted(view, kind);
    let typical = |figure: fn(&Collapsing) -> u64| {
        let figures: Vec<f64> = seen.iter().map(|it| figure(it) as f64).collect();
        median(&figures)
    };
    let Some((bytes, calls)) = typical(|it| it.bytes).zip(typical(|it| it.calls)) else {
        return Ok(Claim::Nothing);
    };
    view.evidence.reading(kind.evidence[0], view.policy, bytes);
    view.evidence.reading(kind.evidence[1], view.policy, calls);
    let policy = view.policy;
    let beyond = not_reached(&tracings);
    if bytes == 0.0 {
        let (nothing, why) = (kind.made_nothing, nothing(&seen, kind));
        return Ok(Claim::NotShown(format!(
            "{policy}: {nothing}, because {why}{beyond}"
        )));
    }
    let seconds = |figure| typical(figure).unwrap_or_default() / 1e9;
    let held = seconds(|it| it.held_ns);
    view.evidence.reading(kind.evidence[2], policy, held);
    let [made, huge] = kind.made;
    Ok(Claim::Shown(format!(
        "{policy}: {made} {} {huge}. {} a run, for which one thread at a time \
         stood {} in all, {} at the longest{}{beyond}",
        quantity(&Unit::Bytes, bytes),
        number::counted(calls.round() as u64, kind.each),
        told(MetricId::WallSeconds, held),
        told(MetricId::WallSeconds, seconds(|it| it.longest_ns)),
        refused(&seen),
    )))
}

fn counted<'a>(view: &PolicyView<'_, 'a>, kind: &Kind) -> Vec<&'a Collapsing> {
    let trials = arm_trials(view.context.record, view.policy);
    trials
        .filter_map(|trial| (kind.counted)(trial.read_back.tracing.as_ref()?))
        .collect()
}

/// Why a policy that makes memory or code huge later made nothing huge; `None` for any other policy.
pub(super) fn why_nothing(view: &PolicyView<'_, '_>) -> Option<String> {
    [&MEMORY, &CODE].into_iter().find_map(|kind| {
        let seen = counted(view, kind);
        let is_nothing = !seen.is_empty() && seen.iter().all(|it| it.bytes == 0);
        is_nothing.then(|| nothing(&seen, kind))
    })
}

/// Why nothing became huge.
fn nothing(seen: &[&Collapsing], kind: &Kind) -> String {
    if seen.iter().all(|it| it.passes == 0) {
        "the program ended before that time".to_owned()
    } else if seen.iter().all(|it| it.calls == 0) {
        kind.nothing_there.to_owned()
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
