//! What huge pages do under a policy that changes malloc too, told by the same with small pages, and what such a policy
//! does as a whole.

use super::super::Report;
use super::super::conclusion::{Conclusion, HugePages};
use super::super::interval::Sign;
use super::effect::Effect;
use super::headline::{IN_A_ROW, is_of_warm_memory};
use super::judged;
use super::sentence::{evidence, evidence_of_none};
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

/// `Huge pages by themselves help perl: 18.8 % less wall time than the same malloc with small pages (95 %: 16 to 27 %). But malloc=thp also lets malloc grow the
/// heap in larger steps, alone (thp=never,malloc=thp) 31.2 % more (95 %: 27 to 38 %). Together: 6.9 % more than as-is (95 %: 1.2 to
/// 10.5 %).`
pub(super) fn answer(report: &Report<'_>, conclusion: &Conclusion, what: &str) -> Option<String> {
    let alone = comparison(report, conclusion)?;
    let metric = metric_of(report.record, &alone.metric);
    let than = match conclusion.huge_pages {
        HugePages::DoNotMatter => "",
        _ => " than the same malloc with small pages",
    };
    let (verb, effect) = match conclusion.huge_pages {
        HugePages::DoNotMatter => {
            let threshold = chosen_percent(report.table.verdict.threshold);
            (
                "do not matter to",
                format!("no difference within ±{threshold} %"),
            )
        }
        HugePages::Hurt => ("hurt", Effect::of(&metric, &alone)?.phrase(&metric)),
        _ => ("help", Effect::of(&metric, &alone)?.phrase(&metric)),
    };
    let range = match conclusion.huge_pages {
        HugePages::DoNotMatter => evidence(&metric, &alone, Sign::Kept),
        _ => evidence(&metric, &alone, Sign::Left),
    };
    let condition = match is_of_warm_memory(report, conclusion) {
        true => IN_A_ROW,
        false => "",
    };
    let steps = by_itself(report, &alone.baseline);
    let sham = plain(&alone.baseline);
    let steps = steps.map_or_else(String::new, |it| format!(", alone ({sham}) {it}"));
    Some(format!(
        "Huge pages by themselves {verb} {what}: {effect}{than}{condition} {range}. But {} also lets malloc grow the heap \
         in larger steps{steps}. {}.",
        plain(&alone.policy),
        together(report, &alone.policy)?
    ))
}

/// `Together: 6.9 % more than as-is (95 %: 1.2 to 10.5 %)`
fn together(report: &Report<'_>, policy: &str) -> Option<String> {
    let row = judged(report, policy)?;
    let metric = metric_of(report.record, &row.metric);
    let baseline = plain(&row.baseline);
    let effect = Effect::of(&metric, &row)?.brief(&metric);
    Some(match report.table.verdict.policies.get(&row.policy) {
        Some(Answer::Better | Answer::Worse) => {
            let range = evidence(&metric, &row, Sign::Left);
            format!("Together: {effect} than {baseline} {range}")
        }
        Some(Answer::NoDifference) => format!(
            "Together: no difference from {baseline} {}",
            evidence_of_none(&metric, &row)
        ),
        _ => format!(
            "Together, not decided: {} against {baseline} {}",
            effect_of(report.record, &row),
            evidence(&metric, &row, Sign::Kept)
        ),
    })
}

/// `31.2 % more (95 %: 27 to 38 %)`, where that was shown.
fn by_itself(report: &Report<'_>, malloc_alone: &str) -> Option<String> {
    let answer = report.table.verdict.policies.get(malloc_alone);
    let row = judged(report, malloc_alone)?;
    let is_shown = matches!(answer, Some(Answer::Better | Answer::Worse));
    brief(report, &row).filter(|_| is_shown)
}

/// `18.8 % less (95 %: 16 to 27 %)`
fn brief(report: &Report<'_>, row: &Comparison) -> Option<String> {
    let metric = metric_of(report.record, &row.metric);
    let effect = Effect::of(&metric, row)?.brief(&metric);
    Some(format!("{effect} {}", evidence(&metric, row, Sign::Left)))
}

/// `its huge pages alone 8.1 % less (95 %: 2 to 13 %)`, where that shows that huge pages are the reason for
/// what the policy does.
pub(super) fn proof(report: &Report<'_>, policy: &str) -> Option<String> {
    let answer = report.table.verdict.policies.get(policy);
    let known = pages_alone(report, policy).filter(|it| Some(&it.answer) == answer)?;
    let effect = brief(report, &known.comparison)?;
    Some(format!("its huge pages alone {effect}"))
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
