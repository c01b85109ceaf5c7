//! The command that tells the huge pages of a policy from what else it sets.

use super::super::answer::{pages_alone, shown_with_more_than_pages};
use super::super::pages::more_huge_bytes;
use super::again::with_policies;
use super::more_time::{more_rounds, took};
use super::{Advice, Report};
use crate::run::compare::{Answer, fewest_rounds_of_single_runs};
use crate::run::findings::Context;
use crate::run::plan::USUAL_TIME;
use crate::run::policy::{Policy, Settings, Thp};

/// More rounds where the policy of the answer ran beside the same with small pages, or an experiment in which it does.
/// Empty where a policy of pages alone shows what huge pages do.
pub(super) fn advice(report: &Report<'_>) -> Vec<Advice> {
    let Some(Policy { name, settings }) = told(report) else {
        return Vec::new();
    };
    if let Some(known) = pages_alone(report, name) {
        let is_open = known.answer == Answer::NotDecided;
        let what = "whether its huge pages are the reason";
        return match is_open {
            true => more_rounds(report, &known.comparison, what),
            false => Vec::new(),
        };
    }
    let policies = &report.record.header.plan.policies;
    let mut baseline = policies.iter();
    let baseline = baseline.find(|it| it.name == report.table.verdict.baseline);
    let baseline = baseline.map(|it| &it.settings);
    let small = Settings {
        thp: Some(Thp::Never),
        ..settings.clone()
    };
    // What is no sham is dropped once its own question is answered, so it has to be the baseline.
    let settings: Vec<&Settings> = match settings.malloc_alone() {
        Some(_) => baseline.into_iter().chain([settings, &small]).collect(),
        None => vec![&small, settings],
    };
    let minutes = minutes(report, settings.len());
    vec![
        Advice::Sentence(format!(
            "About {minutes} more minutes tell whether its huge pages are the reason:"
        )),
        with_policies(report, settings),
    ]
}

/// The policy of the answer, where its huge pages may be the reason and it does not choose their mode.
fn told<'a>(report: &'a Report<'_>) -> Option<&'a Policy> {
    let told = shown_with_more_than_pages(report)?;
    let context = Context::new(report.record, &report.table);
    let mut policies = report.record.header.plan.policies.iter();
    let found = policies.find(|it| it.name == told && it.settings.thp.is_none());
    found.filter(|it| more_huge_bytes(&context, &it.name) != Some(0.0))
}

/// What the fewest rounds take that can decide, or the usual time, where the trials take as long as these did.
pub(super) fn minutes(report: &Report<'_>, policies: usize) -> f64 {
    let trials = report.record.trials.len().max(1) as u32;
    let trial = took(report).unwrap_or_default() / trials;
    let control = 1;
    let round = trial * (policies + control) as u32;
    let needed = round * fewest_rounds_of_single_runs();
    (needed.max(USUAL_TIME).as_secs_f64() / 60.0).ceil()
}
