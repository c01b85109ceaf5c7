//! What huge pages do under a policy that changes malloc too, told by the same with small pages, and what such a policy
//! does as a whole.

use super::super::Report;
use super::super::conclusion::{Conclusion, HugePages};
use super::super::interval::Sign;
use super::effect::Effect;
use super::headline::is_of_warm_memory;
use super::judged;
use super::sentence::evidence;
use crate::run::compare::labels::{effect_of, metric_of};
use crate::run::compare::{Answer, Comparison, PagesAlone};
use crate::text::number::chosen_percent;
use crate::text::wrap::plain;

/// What the huge pages of a policy do by themselves; `None` where it was not run beside malloc alone.
pub(in crate::run::report) fn pages_alone<'a>(
    report: &'a Report<'_>,
    policy: &str,
) -> Option<&'a PagesAlone> {
    let mut known = report.table.pages_alone.iter();
    known.find(|it| it.comparison.policy == policy)
}

/// The comparison that shows what a conclusion says.
pub(super) fn comparison(report: &Report<'_>, conclusion: &Conclusion) -> Option<Comparison> {
    let policy = conclusion.policy.as_deref()?;
    match conclusion.beside_malloc {
        true => Some(pages_alone(report, policy)?.comparison.clone()),
        false => judged(report, policy),
    }
}

/// `Huge pages help perl: 13.4 % less wall time with malloc=thp than without its huge pages (95 %: 1 to 19 %). Yet malloc=thp
/// takes 15.6 % more wall time than as-is (95 %: 3 to 20 %): …`
pub(super) fn answer(report: &Report<'_>, conclusion: &Conclusion, what: &str) -> Option<String> {
    let row = comparison(report, conclusion)?;
    let metric = metric_of(report.record, &row.metric);
    let policy = plain(&row.policy);
    if conclusion.huge_pages == HugePages::DoNotMatter {
        return Some(format!(
            "Huge pages do not matter to {what}: no difference within ±{} % between {policy} and the same without huge \
             pages {}.{}",
            chosen_percent(report.table.verdict.threshold),
            evidence(&metric, &row, Sign::Kept),
            as_a_whole(report, conclusion, &row)?,
        ));
    }
    let verb = match conclusion.huge_pages {
        HugePages::Hurt => "hurt",
        _ => "help",
    };
    let condition = match is_of_warm_memory(report, conclusion) {
        true => " where starts follow within seconds",
        false => "",
    };
    Some(format!(
        "Huge pages {verb} {what}: {} with {policy} than without its huge pages{condition} {}.{}",
        Effect::of(&metric, &row)?.phrase(&metric),
        evidence(&metric, &row, Sign::Left),
        as_a_whole(report, conclusion, &row)?,
    ))
}

const MALLOC_TOO: &str = "with it, malloc also grows its heap in larger steps";

/// What the policy does beside the baseline, and that malloc is the reason where that is not what its huge pages do.
fn as_a_whole(report: &Report<'_>, conclusion: &Conclusion, alone: &Comparison) -> Option<String> {
    let row = judged(report, &alone.policy)?;
    let metric = metric_of(report.record, &row.metric);
    let (policy, baseline) = (plain(&row.policy), plain(&row.baseline));
    let answer = report.table.verdict.policies.get(&row.policy);
    let text = Effect::of(&metric, &row)?.text(&metric);
    let range = evidence(&metric, &row, Sign::Left);
    let steps = by_itself(report, &alone.baseline);
    let alone_they = || {
        steps
            .as_ref()
            .map_or_else(String::new, |it| format!(", which {it}"))
    };
    Some(match answer {
        Some(Answer::Better | Answer::Worse) => {
            let pages = match conclusion.huge_pages {
                HugePages::Help => "costs more than the huge pages save",
                HugePages::Hurt => "saves more than the huge pages cost",
                _ => "is the reason",
            };
            let steps = steps.as_deref().unwrap_or(pages);
            format!(" Yet {policy} {text} {baseline} {range}: {MALLOC_TOO}, which {steps}.")
        }
        Some(Answer::NoDifference) => format!(
            " Yet {policy} as a whole makes no difference {}: {MALLOC_TOO}{}.",
            evidence(&metric, &row, Sign::Kept),
            alone_they()
        ),
        _ => format!(
            " Whether {policy} as a whole helps is not decided, {} against {baseline} {}: {MALLOC_TOO}{}.",
            effect_of(report.record, &row),
            evidence(&metric, &row, Sign::Kept),
            alone_they()
        ),
    })
}

/// `alone takes 36 % more (95 %: 28 to 44 %)`, where that was shown.
fn by_itself(report: &Report<'_>, malloc_alone: &str) -> Option<String> {
    let answer = report.table.verdict.policies.get(malloc_alone);
    let row = judged(report, malloc_alone)?;
    let metric = metric_of(report.record, &row.metric);
    let effect = Effect::of(&metric, &row)?.brief(&metric);
    let is_shown = matches!(answer, Some(Answer::Better | Answer::Worse));
    is_shown.then(|| {
        format!(
            "alone takes {effect} {}",
            evidence(&metric, &row, Sign::Left)
        )
    })
}

/// `, and 8.1 % less than without its huge pages (95 %: 2 to 13 %)`, where that shows that these are the reason for what
/// the policy does; else empty.
pub(super) fn proof(report: &Report<'_>, row: &Comparison) -> String {
    let answer = report.table.verdict.policies.get(&row.policy);
    let known = pages_alone(report, &row.policy).filter(|it| Some(&it.answer) == answer);
    let of = |pages: &PagesAlone| {
        let metric = metric_of(report.record, &row.metric);
        let effect = Effect::of(&metric, &pages.comparison)?.brief(&metric);
        let range = evidence(&metric, &pages.comparison, Sign::Left);
        Some(format!(
            ", and {effect} than without its huge pages {range}"
        ))
    };
    known.and_then(of).unwrap_or_default()
}

/// ` Its huge pages alone: −5.1 % (95 %: −14 to +3 %).`, where that is not decided; else empty.
pub(super) fn open(report: &Report<'_>, policy: &str) -> String {
    let known = pages_alone(report, policy).filter(|it| it.comparison.ratio.is_some());
    known.map_or_else(String::new, |it| {
        let metric = metric_of(report.record, &it.comparison.metric);
        format!(
            " Its huge pages alone: {} {}.",
            effect_of(report.record, &it.comparison),
            evidence(&metric, &it.comparison, Sign::Kept)
        )
    })
}
