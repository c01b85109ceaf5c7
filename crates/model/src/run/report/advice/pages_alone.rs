//! The command that tells the huge pages of the recommended policy from what else it sets.

use super::super::answer::with_more_than_pages;
use super::super::conclusion::conclude;
use super::workload::with_own_input;
use super::{Advice, Report};
use crate::run::policy::{Policy, Settings, Thp, rerun_without};

/// Where no policy of pages alone changed a page, so that those of the best one are not shown to be the reason.
pub(super) fn advice(report: &Report<'_>, best: &str) -> Vec<Advice> {
    let header = &report.record.header;
    let is_open = conclude(report).is_some_and(|it| it.policy.is_none())
        && with_more_than_pages(report).as_deref() == Some(best);
    let mut policies = header.plan.policies.iter();
    let best = policies.find(|it| it.name == best && it.settings.thp.is_none() && is_open);
    let Some(Policy { settings, .. }) = best else {
        return Vec::new();
    };
    let without = Settings {
        thp: Some(Thp::Never),
        ..settings.clone()
    };
    let flags = [&without, settings].map(|it| format!("--policy={it}"));
    let words = flags.each_ref().map(String::as_str);
    let command = rerun_without(
        &header.made_by,
        &["--policy", "--matrix", "--baseline"],
        &words,
    );
    vec![
        Advice::Sentence("To see whether its huge pages are the reason:".to_owned()),
        Advice::Command(with_own_input(report, command)),
    ]
}
