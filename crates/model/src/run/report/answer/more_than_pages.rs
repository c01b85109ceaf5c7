//! Policies that change more than a program's pages: these are not shown to be the reason for what they do.

use super::super::Report;
use super::super::conclusion::{HugePages, conclude};
use super::super::interval::Sign;
use super::super::pages::{is_malloc_without_pages, is_telling, more_huge_bytes};
use super::beside::{after_rest, beside};
use super::effect::Effect;
use super::headline::{IN_A_ROW, is_of_warm_memory, widest};
use super::sentence::evidence;
use super::{judged, pages_alone, property};
use crate::run::compare::labels::metric_of;
use crate::run::compare::{Answer, Comparison};
use crate::run::findings::{Context, Finding};
use crate::run::policy::Policy;
use crate::text::wrap::plain;

/// The policy of the answer where that sets more than pages, changed them by more than one, and is the best or was shown
/// to be worse. `None` where the answer is about pages alone.
pub(in crate::run::report) fn shown_with_more_than_pages<'a>(
    report: &'a Report<'_>,
) -> Option<&'a str> {
    let known = &report.known.shown_with_more_than_pages;
    known.get_or_init(|| find(report)).as_deref()
}

fn find(report: &Report<'_>) -> Option<String> {
    let conclusion = conclude(report)?;
    let is_told = match conclusion.huge_pages {
        HugePages::NotDecided | HugePages::HardlyMatter => true,
        // Some runs of one policy go both ways, and another one is recommended.
        HugePages::HelpSometimes => report.table.verdict.best.is_some(),
        HugePages::NotTried => conclusion.policy.is_none(),
        _ => false,
    };
    if !is_told {
        return None;
    }
    let verdict = &report.table.verdict;
    let context = Context::new(report.record, &report.table);
    let best = verdict.best.as_ref().filter(|it| **it != verdict.baseline);
    let best = best.filter(|best| conclusion.policy.as_ref() != Some(*best));
    // It was tried for its pages and made none: another policy that did is the answer.
    let is_idle =
        |best: &str| conclusion.policy.is_some() && is_malloc_without_pages(&context, best);
    let best = best.filter(|best| !is_idle(best));
    let changing = changing(report).map(|it| &it.name);
    let is_worse = |name: &&String| verdict.policies.get(*name) == Some(&Answer::Worse);
    let found = match (best, &conclusion.policy) {
        (Some(best), Some(_)) => Some(best),
        (Some(best), None) => changing.filter(|it| *it == best),
        (None, _) => changing.filter(is_worse),
    };
    found.cloned()
}

/// A policy that changed the pages by more than one, and sets something else too: the best, one that was shown to be
/// worse, or else the first.
pub(super) fn changing<'a>(report: &'a Report<'_>) -> Option<&'a Policy> {
    let context = Context::new(report.record, &report.table);
    let verdict = &report.table.verdict;
    let baseline = context.settings(context.baseline());
    let policies = report.record.header.plan.policies.iter();
    let found = policies.filter(|policy| {
        let more = more_huge_bytes(&context, &policy.name);
        !report.record.header.plan.is_sham(&policy.name)
            && !policy.settings.changes_pages_alone(&baseline)
            && more.is_some_and(|more| is_telling(&context, more))
    });
    found.min_by_key(|policy| {
        let is_best = verdict.best.as_ref() == Some(&policy.name);
        let is_worse = verdict.policies.get(&policy.name) == Some(&Answer::Worse);
        (!is_best, !is_worse)
    })
}

/// What a policy changes that sets more than pages: these are not shown to be the reason, and none where it has no more.
pub(super) fn sentence(report: &Report<'_>, what: &str) -> Option<String> {
    let policy = shown_with_more_than_pages(report)?;
    let row = judged(report, policy)?;
    let effect = effect_on(report, &row, what)?;
    let beside = beside(report, &row);
    let rest = after_rest(report, policy);
    let context = Context::new(report.record, &report.table);
    let pages = match more_huge_bytes(&context, policy) {
        Some(0.0) => {
            return Some(format!(
                "{effect}{beside}, and not by huge pages: it made no more of them.{rest}"
            ));
        }
        Some(more) if more < 0.0 => "takes huge pages from the program",
        _ => "gives the program huge pages",
    };
    let baseline = context.settings(context.baseline());
    let doubt = match context.settings(policy).changes_malloc_too(&baseline) {
        true => "lets malloc grow its heap in larger steps: either may be the reason",
        false => "changes more than these, so they may not be the reason",
    };
    Some(format!(
        "{effect}{beside}. It {pages} and {doubt}.{}{}{rest}",
        pages_alone::open(report, policy),
        without_malloc(report),
    ))
}

/// ` With thp=always no page was huge, because …`
fn without_malloc(report: &Report<'_>) -> String {
    let context = Context::new(report.record, &report.table);
    let widest = widest(&context, report.table.verdict.policies.keys());
    let finding = Finding::shown(&report.findings, "policy-had-no-effect", widest);
    finding.map_or_else(String::new, |finding| {
        let claim = plain(&finding.claim());
        // What may be the reasons stands with the finding.
        let claim = claim.split(" (").next().unwrap_or_default();
        format!(" With {} {}.", plain(widest), claim.trim_end_matches('.'))
    })
}

/// `malloc=thp takes 12.0 % less wall time than as-is for sort (95 %: …)`.
fn effect_on(report: &Report<'_>, row: &Comparison, what: &str) -> Option<String> {
    let metric = metric_of(report.record, &row.metric);
    let is_warm = conclude(report).is_some_and(|it| is_of_warm_memory(report, &it));
    Some(format!(
        "{} {} {}{} for {what}{} {}",
        plain(&row.policy),
        Effect::of(&metric, row)?.text(&metric),
        plain(&row.baseline),
        property(report),
        if is_warm { IN_A_ROW } else { "" },
        evidence(&metric, row, Sign::Left),
    ))
}
