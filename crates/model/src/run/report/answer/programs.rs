//! The answers about programs: the others against the first under each policy, and whether they gain
//! alike from the policies.

use super::super::Report;
use super::super::interval::Sign;
use super::sentence::{evidence, sentence};
use super::{Pair, judged, property};
use crate::run::compare::labels::metric_of;
use crate::run::compare::medians::Medians;
use crate::run::compare::{Answer, Gain, Interaction};
use crate::run::metric::MetricId;
use crate::run::plan::Program;
use crate::text::ends::percent_ends;
use crate::text::number::{chosen_percent, percent_change};
use crate::text::wrap::plain;

/// The policy of the baseline first, then what the programs gain from the others, then the rest.
pub(super) fn answers(report: &Report<'_>) -> Vec<String> {
    let plan = &report.record.header.plan;
    let Some((first, others)) = plan.programs.split_first() else {
        return Vec::new();
    };
    let baseline = plan.policy_of(&report.table.verdict.baseline);
    let against = |policy: &str| -> Vec<String> {
        let compared = others.iter().filter(|program| {
            let arm = program.under(policy);
            report.table.verdict.policies.contains_key(&arm)
        });
        compared
            .map(|program| against_first(report, first, program, policy))
            .collect()
    };
    let mut answers = against(baseline);
    let interactions = report.table.interactions.iter();
    answers.extend(interactions.map(|it| interaction(report, it)));
    let policies = plan.own_policies().into_iter();
    answers.extend(policies.filter(|it| *it != baseline).flat_map(against));
    answers
}

fn against_first(report: &Report<'_>, first: &Program, program: &Program, policy: &str) -> String {
    let arm = program.under(policy);
    let pair = Pair {
        here: plain(&program.name),
        there: plain(&first.name),
        subject: format!("{} with {}", property(report), plain(policy)),
    };
    let answer = report.table.verdict.policies.get(&arm);
    let row = judged(report, &arm).filter(|_| answer == Some(&Answer::NoDifference));
    let Some(row) = row else {
        return sentence(report, &arm, &pair);
    };
    let metric = metric_of(report.record, &row.metric);
    format!(
        "{} differs from {} by less than {} %{} {}.",
        pair.here,
        pair.there,
        chosen_percent(report.table.verdict.threshold),
        pair.subject,
        evidence(&metric, &row, Sign::Kept),
    )
}

/// `new gains less from huge pages: −3.1 points (95 %: −4.4 to −1.9), with thp=always.`
fn interaction(report: &Report<'_>, found: &Interaction) -> String {
    let (program, policy) = (plain(&found.program), plain(&found.policy));
    let first = plain(&found.baseline_program);
    let ends = found.low.zip(found.high);
    let Some((points, (low, high))) = found.points.zip(ends) else {
        return format!(
            "{program} and {policy}: no interaction was shown; too few rounds for an interval."
        );
    };
    let points = percent_change(points / 100.0);
    let [low, high] = percent_ends(low / 100.0, high / 100.0);
    let interval = format!("(95 %: {low} to {high})");
    let threshold = chosen_percent(report.table.verdict.threshold);
    let is_huge = gives_huge_pages(report, found);
    match (found.gain, is_huge) {
        (Gain::More | Gain::Less, true) => format!(
            "{program} gains {} from huge pages: {points} points {interval}, with {policy}.",
            more_or_less(found.gain)
        ),
        (Gain::More | Gain::Less, false) => format!(
            "{program} gains {} from {policy} than {first}: {points} points {interval}.",
            more_or_less(found.gain)
        ),
        (Gain::Alike, _) => format!(
            "{program} gains from {policy} what {first} does, within ±{threshold} points: {points} \
             {interval}."
        ),
        (Gain::NotDecided, _) => {
            format!("{program} and {policy}: no interaction was shown, {points} points {interval}.")
        }
    }
}

fn more_or_less(gain: Gain) -> &'static str {
    match gain {
        Gain::More => "more",
        _ => "less",
    }
}

/// Whether a program has more huge pages under the policy than under the baseline.
fn gives_huge_pages(report: &Report<'_>, found: &Interaction) -> bool {
    let medians = Medians::of(report.record);
    let programs = &report.record.header.plan.programs;
    programs.iter().any(|program| {
        let huge = |policy: &str| {
            let bytes = medians.get(&program.under(policy), MetricId::HugeAnonPeakBytes);
            bytes.ok()
        };
        let both = huge(&found.policy).zip(huge(&found.baseline));
        both.is_some_and(|(here, there)| here > there)
    })
}
