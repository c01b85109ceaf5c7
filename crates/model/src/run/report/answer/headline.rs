//! The first sentence: whether huge pages help, by how much, and at what price.

use super::super::Report;
use super::super::conclusion::{Conclusion, HugePages, smallness};
use super::super::interval::Sign;
use super::super::pages::same_huge_bytes;
use super::beside::{after_rest, beside, shown_all_the_same};
use super::effect::Effect;
use super::others::means;
use super::sentence::{evidence, evidence_of_none, may_be_small, rounds_needed};
use super::{
    Pair, command, is_answer, judged, more_than_pages, pages_alone, pair, property, provisional,
    shape, user_time,
};
use crate::base::units::Unit;
use crate::run::compare::labels::{effect_of, label_of, metric_of};
use crate::run::compare::{Answer, Comparison};
use crate::run::findings::host_cold_memory::{is_dear_after_rest, is_uneven, rested_run};
use crate::run::findings::rested_runs::RestedRun;
use crate::run::findings::{Context, Finding};
use crate::run::metric::MetricId;
use crate::text::number::{chosen_percent, quantity};
use crate::text::wrap::plain;

pub(super) fn headline(report: &Report<'_>, conclusion: &Conclusion) -> String {
    let what = command(report);
    let Some(policy) = conclusion.policy.as_deref() else {
        return without_pages(report, conclusion, &what);
    };
    if conclusion.beside_malloc
        && let Some(text) = pages_alone::answer(report, conclusion, &what)
    {
        return text;
    }
    let pair = pair(report, policy);
    let reason = report.table.verdict.reasons.get(policy);
    match (judged(report, policy), conclusion.huge_pages) {
        (Some(row), HugePages::HelpSometimes) => {
            let shown = more_than_pages::sentence(report, &what);
            shown.unwrap_or_else(|| help_sometimes(report, &what, &row, &pair))
        }
        (Some(row), HugePages::DoNotMatter) => no_difference(report, &what, &row, &pair),
        (Some(row), HugePages::NotDecided | HugePages::HardlyMatter) if reason.is_none() => {
            let shown = more_than_pages::sentence(report, &what);
            shown.unwrap_or_else(|| match conclusion.huge_pages {
                HugePages::HardlyMatter => hardly_matter(report, &what, &row, &pair),
                _ => not_decided(report, &what, &row, &pair),
            })
        }
        (Some(row), HugePages::Help | HugePages::HelpAtAPrice | HugePages::Hurt) => {
            decided(report, conclusion, &what, &row, &pair)
        }
        _ => {
            let why = reason.map_or_else(|| "it was not compared".to_owned(), |it| plain(&it.to_string()));
            unanswered(&what, &pair, why.trim_end_matches('.'))
        }
    }
}

fn help_sometimes(report: &Report<'_>, what: &str, row: &Comparison, pair: &Pair) -> String {
    format!(
        "Huge pages help some runs of {what} and hurt others. {}{}",
        shape::either(report, row, pair),
        host_slows(report, &row.policy)
    )
}

/// Who is to blame for the slow runs, where that is probably the host.
fn host_slows(report: &Report<'_>, policy: &str) -> &'static str {
    match is_uneven(&report.findings, policy) {
        true => " In the slow runs the host probably had to back memory first.",
        false => "",
    }
}

fn unanswered(what: &str, pair: &Pair, why: &str) -> String {
    format!(
        "Not decided whether huge pages help {what}: {}: {why}.",
        pair.here
    )
}

/// `Huge pages help sort: 19.5 % less wall time with thp=always (95 %: 19.1 to 19.9 %).`
fn decided(
    report: &Report<'_>,
    conclusion: &Conclusion,
    what: &str,
    row: &Comparison,
    pair: &Pair,
) -> String {
    let metric = metric_of(report.record, &row.metric);
    let phrase = Effect::of(&metric, row);
    let phrase = phrase.map_or_else(|| "different".to_owned(), |effect| effect.phrase(&metric));
    let is_dear = is_dear_after_rest(&report.findings, &row.policy);
    let lead = match (conclusion.huge_pages, conclusion.baseline_has_more) {
        (HugePages::Hurt, _) => format!("Huge pages hurt {what}"),
        (_, true) => format!("Huge pages help {what}, keep them"),
        (HugePages::HelpAtAPrice, _) if is_dear => {
            format!("Huge pages help {what} only{IN_A_ROW}")
        }
        (HugePages::HelpAtAPrice, _) => format!("Huge pages help {what} at a price"),
        _ => format!("Huge pages help {what}"),
    };
    let size = match may_be_small(report, row) {
        true => ", by how much is open",
        false => "",
    };
    let than = match report.table.verdict.baseline.as_str() {
        "as-is" => String::new(),
        other => format!(" than with {}", plain(other)),
    };
    let condition = match is_of_warm_memory(report, conclusion) && !is_dear {
        true => IN_A_ROW,
        false => "",
    };
    format!(
        "{lead}{size}: {phrase}{} with {}{}{than}{condition} {}{}.{}{}",
        property(report),
        plain(&row.policy),
        means(report, &row.policy),
        evidence(&metric, row, Sign::Left),
        beside(report, row),
        shape::rare(report, &row.policy, pair),
        after_rest(report, &row.policy),
    )
}

/// Behind what holds on warm memory.
pub(super) const IN_A_ROW: &str = " in back-to-back runs";

/// Whether a gain was measured on warm memory, and runs after a rest were not shown to gain. A
/// load meets a server that started long ago.
pub(super) fn is_of_warm_memory(report: &Report<'_>, conclusion: &Conclusion) -> bool {
    let helps = [HugePages::Help, HugePages::HelpAtAPrice].contains(&conclusion.huge_pages);
    let of_pages = conclusion.policy.as_deref();
    let of_pages = of_pages.filter(|_| helps && !conclusion.baseline_has_more);
    let best = report.table.verdict.best.as_deref();
    let with_more = more_than_pages::shown_with_more_than_pages(report);
    let policy = of_pages.or(with_more.filter(|it| Some(*it) == best));
    let run = policy.and_then(|policy| rested_run(&report.findings, policy));
    run.is_some_and(|run| !matches!(run, RestedRun::Shorter(_)))
        && report.record.header.plan.service.is_none()
}

fn no_difference(report: &Report<'_>, what: &str, row: &Comparison, pair: &Pair) -> String {
    let metric = metric_of(report.record, &row.metric);
    format!(
        "Huge pages do not matter to {what}: no difference within ±{} %{} with {} {}{}.{}{}",
        chosen_percent(report.table.verdict.threshold),
        pair.subject,
        pair.here,
        evidence_of_none(&metric, row),
        beside(report, row),
        after_rest(report, &row.policy),
        shape::unseen(report, &row.policy),
    )
}

/// `Huge pages hardly matter to gcc: −0.6 % with thp=always (95 %: −1.7 to +0.4 %).`
fn hardly_matter(report: &Report<'_>, what: &str, row: &Comparison, pair: &Pair) -> String {
    format!(
        "Huge pages hardly matter to {what}: {}{}",
        estimate(report, row, pair),
        after_rest(report, &row.policy),
    )
}

/// `−0.6 % with thp=always (95 %: −1.7 to +0.4 %).`, with what is judged where that is not the time, and with what is shown
/// all the same.
fn estimate(report: &Report<'_>, row: &Comparison, pair: &Pair) -> String {
    let metric = metric_of(report.record, &row.metric);
    let named = match row.metric == MetricId::WallSeconds.name() {
        true => String::new(),
        false => format!("{} ", label_of(report.record, &row.metric, row.statistic)),
    };
    format!(
        "{named}{}{} with {} {}.{}",
        effect_of(report.record, row),
        pair.subject,
        pair.here,
        evidence(&metric, row, Sign::Kept),
        shown_all_the_same(report, row),
    )
}

fn not_decided(report: &Report<'_>, what: &str, row: &Comparison, pair: &Pair) -> String {
    let lead = format!("Not decided whether huge pages help {what}");
    let metric = metric_of(report.record, &row.metric);
    if let Some(shown) = provisional::sentence(report, &row.policy) {
        return format!(
            "{lead}. With {}, {}",
            pair.here,
            shown.replacen("Provisional", "provisional", 1)
        );
    }
    let next = rounds_needed(report, row).map_or_else(String::new, |next| format!(" {next}"));
    if Effect::of(&metric, row).is_none() {
        return format!("{lead}: nothing was compared.{next}");
    }
    let lasting = user_time::sentence(report, &row.policy);
    let lasting = lasting.map_or_else(String::new, |lasting| format!(" {lasting}"));
    format!("{lead}: {}{next}{lasting}", estimate(report, row, pair))
}

/// No policy that sets nothing else changed the program's pages: it can get none, or nothing that was
/// run gave it any.
fn without_pages(report: &Report<'_>, conclusion: &Conclusion, what: &str) -> String {
    let finding = report.findings.iter().find(|it| is_answer(it));
    if conclusion.huge_pages == HugePages::DoNotMatter {
        let why = used_less_than_a_page(report).unwrap_or_else(|| why_alike(report, finding));
        return format!("Huge pages do not matter to {what}: {why}.");
    }
    if let Some(bytes) = same_huge_bytes(report) {
        return format!(
            "Whether huge pages help {what} cannot be told: under each policy it had as many ({}).",
            quantity(&Unit::Bytes, bytes)
        );
    }
    if let Some(text) = more_than_pages::sentence(report, what) {
        return text;
    }
    match more_than_pages::changing(report) {
        Some(policy) => format!(
            "Huge pages by themselves could not be tried on {what}: {} changed its pages, and \
             sets something else too.",
            plain(&policy.name)
        ),
        None => format!(
            "Huge pages could not be tried on {what}: {}.",
            why_not_tried(report, finding)
        ),
    }
}

/// `its largest process used 1.96 MiB, less than one huge page (2 MiB)`, where that is so.
fn used_less_than_a_page(report: &Report<'_>) -> Option<String> {
    let (peak, page) = smallness(&Context::new(report.record, &report.table))?;
    let [peak, page] = [peak, page].map(|bytes| quantity(&Unit::Bytes, bytes));
    Some(format!(
        "its largest process used {peak}, less than one huge page ({page})"
    ))
}

/// The policy that allows the most huge pages.
pub(super) fn widest<'a>(
    context: &Context<'a>,
    policies: impl Iterator<Item = &'a String>,
) -> &'a str {
    let names = policies.map(String::as_str).chain([context.baseline()]);
    names
        .max_by_key(|name| context.rank(name))
        .unwrap_or_default()
}

/// A finding about a policy that allows less than another one cannot be the reason for both.
fn why_not_tried(report: &Report<'_>, finding: Option<&Finding>) -> String {
    let Some(widest) = wider(report, finding) else {
        return why_alike(report, finding);
    };
    let why = had_no_time(report, widest).map(|finding| {
        let claim = plain(&finding.claim());
        format!(": {}", claim.trim_end_matches('.'))
    });
    let widest = plain(widest);
    format!(
        "no page was huge, even with {widest}{}",
        why.unwrap_or_default()
    )
}

/// The policy that allows the most huge pages, where a finding is about one that allows less.
fn wider<'a>(report: &'a Report<'_>, finding: Option<&Finding>) -> Option<&'a str> {
    let context = Context::new(report.record, &report.table);
    let verdict = &report.table.verdict;
    let widest = widest(&context, verdict.policies.keys());
    let policy = finding.and_then(|finding| finding.policy.as_deref())?;
    let allowed = context.rank(policy).max(context.rank(&verdict.baseline));
    (allowed < context.rank(widest)).then_some(widest)
}

fn had_no_time<'a>(report: &'a Report<'_>, policy: &str) -> Option<&'a Finding> {
    Finding::shown(&report.findings, "khugepaged-had-no-time", policy)
}

/// The finding that an answer without pages gives beside the one that is its reason.
pub(in crate::run::report) fn told_beside<'a>(report: &'a Report<'_>) -> Option<&'a Finding> {
    let reason = report.findings.iter().find(|it| is_answer(it));
    had_no_time(report, wider(report, reason)?)
}

/// The reason is the finding's where there is one: it knows more than the verdict.
fn why_alike(report: &Report<'_>, finding: Option<&Finding>) -> String {
    let verdict = &report.table.verdict;
    let unchanged = verdict.policies.iter();
    let mut unchanged = unchanged.filter(|(_, answer)| **answer == Answer::NoEffect);
    let reason = unchanged.find_map(|(policy, _)| verdict.reasons.get(policy));
    let why = finding
        .map(|finding| plain(&finding.claim()))
        .or_else(|| reason.map(|reason| plain(&reason.to_string())))
        .unwrap_or_else(|| "nothing that was run changed its pages".to_owned());
    why.trim_end_matches('.').to_owned()
}
