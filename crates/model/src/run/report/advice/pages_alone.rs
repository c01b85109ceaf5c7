//! The command that tells the huge pages of a policy from what else it sets.

use super::super::answer::shown_with_more_than_pages;
use super::super::pages::more_huge_bytes;
use super::again::with_policies;
use super::more_time::took;
use super::{Advice, Report};
use crate::run::compare::{Answer, fewest_rounds};
use crate::run::findings::Context;
use crate::run::plan::USUAL_TIME;
use crate::run::policy::{Policy, Settings, Thp};

/// The policy of the answer and the same without huge pages, where no policy of pages alone shows what they do. One that
/// is worse is compared with the machine as it is too: its huge pages may help, and it may still not be worth them.
pub(super) fn advice(report: &Report<'_>) -> Vec<Advice> {
    let Some(Policy { name, settings }) = told(report) else {
        return Vec::new();
    };
    let without = without_huge_pages(settings);
    let is_worse = report.table.verdict.policies.get(name) == Some(&Answer::Worse);
    let as_is = is_worse.then(Settings::default);
    let policies: Vec<&Settings> = [&without, settings].into_iter().chain(&as_is).collect();
    let minutes = minutes(report, policies.len());
    vec![
        Advice::Sentence(format!(
            "To see whether its huge pages are the reason, in about {minutes} minutes:"
        )),
        with_policies(report, policies),
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
fn minutes(report: &Report<'_>, policies: usize) -> f64 {
    let trials = report.record.trials.len().max(1) as u32;
    let trial = took(report).unwrap_or_default() / trials;
    let control = 1;
    let round = trial * (policies + control) as u32;
    let needed = round * fewest_rounds(policies.saturating_sub(1) as u32);
    (needed.max(USUAL_TIME).as_secs_f64() / 60.0).ceil()
}

/// Whether the baseline is a policy without its huge pages: being better than that is no reason to set it.
pub(in crate::run::report) fn is_baseline_without(report: &Report<'_>, policy: &str) -> bool {
    let policies = &report.record.header.plan.policies;
    let settings = |name: &str| {
        let mut policies = policies.iter();
        policies.find(|it| it.name == name).map(|it| &it.settings)
    };
    let both = settings(policy).zip(settings(&report.table.verdict.baseline));
    both.is_some_and(|(own, baseline)| {
        let sets_more = own.thp.is_none() && *own != Settings::default();
        sets_more && without_huge_pages(own) == *baseline
    })
}

fn without_huge_pages(settings: &Settings) -> Settings {
    Settings {
        thp: Some(Thp::Never),
        ..settings.clone()
    }
}
