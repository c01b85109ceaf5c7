//! Claims that the program keeps huge pages from its own memory, whatever the policy.

use std::collections::BTreeMap;

use super::context::{Context, Evidence, told};
use super::{Finding, Outcome, Rule};
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::policy::Settings;
use crate::run::policy::realise::Tracer;
use crate::run::record::Record;
use crate::run::trial::{OwnAct, Trial};

/// The rule of this module.
#[derive(Debug)]
pub(super) struct ProgramDisablesThp;

impl Rule for ProgramDisablesThp {
    fn id(&self) -> &'static str {
        "program-disables-thp"
    }

    fn explain(&self) -> &'static str {
        "Claims that the program itself keeps huge pages from its memory, so that no policy reached it \
         and no other finding about huge pages is given. Evidence: THP_enabled in /proc/PID/status of \
         the process with the most memory was 0 while it ran, although it was started without \
         PR_SET_THP_DISABLE; or its smaps has `nh` (MADV_NOHUGEPAGE) on more than half of its \
         anonymous memory. Refuted by huge pages in another process of the tree that does the work. \
         Next: start the program with the setting that leaves huge pages on, and run again."
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        let record = context.record;
        let policies = context.policies().iter().map(|policy| policy.name.as_str());
        let shut: BTreeMap<&str, usize> = policies
            .map(|policy| (policy, acts(record, policy).count()))
            .filter(|(policy, count)| *count > 0 && is_shut_out(record, policy))
            .collect();
        let first = shut.keys().find_map(|policy| acts(record, policy).next());
        first
            .map(|act| finding(self, context, act, &shut))
            .into_iter()
            .collect()
    }
}

/// Whether the program kept huge pages from its memory in most trials of a policy.
pub(super) fn is_shut_out(record: &Record, policy: &str) -> bool {
    let looked = |trial: &&Trial| trial.read_back.tree.is_some();
    let looked = arm_trials(record, policy).filter(looked).count();
    2 * acts(record, policy).count() > looked
}

fn acts<'a>(record: &'a Record, policy: &str) -> impl Iterator<Item = OwnAct<'a>> {
    let realisation = record.header.realisations.get(policy);
    // That tracer keeps the memory of other sites small, and a setting of the allocator all of it: these are acts of the policy.
    let is_chosen =
        realisation.is_some_and(|it| matches!(it.tracer, Tracer::Sites(_)) || it.asks_for_none());
    let trials = arm_trials(record, policy).filter(move |_| !is_chosen);
    trials.filter_map(|trial| trial.read_back.own_act())
}

fn finding(
    rule: &impl Rule,
    context: &Context<'_>,
    act: OwnAct<'_>,
    shut: &BTreeMap<&str, usize>,
) -> Finding {
    let mut evidence = Evidence::default();
    for (policy, &count) in shut {
        let trials = arm_trials(context.record, policy).count();
        evidence.reading("trials", policy, trials as f64);
        evidence.reading("trials_kept_out", policy, count as f64);
    }
    evidence.figure("program", act.process().program.as_str());
    Finding {
        id: rule.id().to_owned(),
        policy: None,
        outcome: Outcome::Shown,
        text: text(context, act, shut),
        evidence: evidence.0,
        explanation: rule.explain(),
        answers: is_told(context, shut) && earlier(context, act, shut).is_none(),
    }
}

/// The policies that set something and were kept out.
fn vain<'a>(context: &Context<'_>, shut: &BTreeMap<&'a str, usize>) -> Vec<&'a str> {
    let sets = |policy: &&str| context.settings(policy) != Settings::default();
    shut.keys().copied().filter(sets).collect()
}

/// Whether the answers of these policies already say why they have none.
fn is_told(context: &Context<'_>, shut: &BTreeMap<&str, usize>) -> bool {
    let vain = vain(context, shut);
    let reasons = &context.table.verdict.reasons;
    !vain.is_empty() && vain.iter().all(|policy| reasons.contains_key(*policy))
}

/// Huge pages that were there before the program switched them off.
fn earlier(context: &Context<'_>, act: OwnAct<'_>, shut: &BTreeMap<&str, usize>) -> Option<String> {
    let metric = MetricId::HugeAnonPeakBytes;
    let OwnAct::SwitchedOff(process) = act else {
        return None;
    };
    let seen = |policy: &&str| {
        let bytes = context.medians.get(policy, metric).ok()?;
        (bytes > 0.0).then(|| format!("{} under {policy}", told(metric, bytes)))
    };
    let seen: Vec<String> = shut.keys().filter_map(seen).collect();
    (!seen.is_empty()).then(|| {
        format!(
            "The huge pages of {} are from before it switched them off: {}",
            process.name,
            seen.join(", ")
        )
    })
}

fn text(context: &Context<'_>, act: OwnAct<'_>, shut: &BTreeMap<&str, usize>) -> String {
    let reached = match vain(context, shut).as_slice() {
        [] => "no policy can give it any".to_owned(),
        policies => format!("{} did not reach it", policies.join(" and ")),
    };
    let remedy = act.remedy();
    let remedy = remedy.map_or_else(String::new, |it| format!("; {it} would leave them on"));
    let seen = shut.iter().map(|(policy, count)| {
        let trials = arm_trials(context.record, policy).count();
        format!("{count} of {trials} trials under {policy}")
    });
    let seen: Vec<String> = seen.collect();
    let claim = format!("{act}: {reached}{remedy}. Seen in {}", seen.join(", "));
    match earlier(context, act, shut) {
        // What the answers say is no claim any more.
        Some(earlier) if is_told(context, shut) => format!("{earlier}. {claim}"),
        Some(earlier) => format!("{claim}. {earlier}"),
        None => claim,
    }
}
