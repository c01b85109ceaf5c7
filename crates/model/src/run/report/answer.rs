//! The answer: one sentence for each policy, with its interval.

use super::Report;
use super::section::sections;
use super::typical::typical;
use crate::run::compare::labels::{effect_of, label_with_scope, metric_of};
use crate::run::compare::medians::Medians;
use crate::run::compare::{Answer, Comparison, Statistic, fewest_rounds, summary};
use crate::run::findings::{Finding, Outcome};
use crate::run::metric::Metric;
use crate::run::plan::JudgeBy;
use crate::run::plan::service::CommandLine;
use crate::run::stats::{FEWEST_FOR_A_MEAN, Quantile};
use crate::text::number::Scaler;
use crate::text::number::chosen_percent;
use crate::text::number::percent;
use crate::text::number::percent_change;
use crate::text::number::three_digits;
use crate::text::wrap::plain;
use crate::text::wrap::shortened;
use effect::Effect;

/// Longer commands are cut in sentences; the record has them in full.
const COMMAND_WIDTH: usize = 48;

pub(super) fn answers(report: &Report<'_>) -> Vec<String> {
    let mut answers: Vec<String> = Vec::new();
    for section in sections(report) {
        let columns = &section.columns;
        for column in columns.iter().skip(1) {
            // What ran is said once.
            let subject = if answers.is_empty() {
                format!("{} for {}", property(report), command(report))
            } else {
                property(report).to_owned()
            };
            let pair = Pair {
                here: plain(column.name),
                there: plain(columns[0].name),
                subject,
            };
            let lead = section.title.as_ref().map(|title| format!("{title}: "));
            let cells = report.cells.as_ref().filter(|_| report.other.is_none());
            let of_cells = cells.and_then(|cells| cells.answer(&report.table, column.policy));
            let answer = of_cells.unwrap_or_else(|| answer(report, column.policy, &pair));
            answers.push(lead.unwrap_or_default() + &answer);
        }
    }
    if answers.is_empty() {
        answers.push(measured(report));
    }
    answers
}

/// What is compared with what, and where that has to be said, on what.
struct Pair {
    here: String,
    there: String,
    subject: String,
}

/// What ran, as it is said in a sentence.
pub(super) fn command(report: &Report<'_>) -> String {
    if let Some(bench) = &report.record.header.plan.bench {
        let which = if bench.deciding() == bench.cells.first() {
            "first"
        } else {
            "last"
        };
        return format!("the {which} cell of bench {}", plain(&bench.suite));
    }
    let plan = &report.record.header.plan;
    let words = plan.command.join(" ");
    // What begins with the preparations of a shell names no server.
    let prepares = plan.shell && CommandLine::Line(words.clone()).program().is_none();
    if plan.service.is_some() && prepares {
        return "the service".to_owned();
    }
    shortened(&plain(&words), COMMAND_WIDTH)
}

/// A single policy: a measurement without a comparison.
fn measured(report: &Report<'_>) -> String {
    let verdict = &report.table.verdict;
    let policy = &verdict.baseline;
    let metric = metric_of(report.record, &verdict.metric);
    let what = format!("{} under {}", command(report), plain(policy));
    if let Some(summary) = summary(report.record, policy, &metric.name) {
        return format!(
            "{what}: {} {}.",
            sentence_label(&metric),
            typical(&metric, &summary)
        );
    }
    if report.record.trials.is_empty() {
        return format!("{what}: nothing was measured: no trial ended.");
    }
    let why = Medians::of(report.record).get(policy, &metric.name).err();
    let why = why.map_or_else(String::new, |missing| {
        format!(": {}", plain(&missing.to_string()))
    });
    format!("{what}: nothing was measured{why}.")
}

/// What a metric is called where no table marks whose it is.
fn sentence_label(metric: &Metric) -> String {
    label_with_scope(metric, Statistic::Center)
}

fn answer(report: &Report<'_>, policy: &str, pair: &Pair) -> String {
    let verdict = &report.table.verdict;
    let comparison = judged(report, policy);
    let comparison = comparison.as_ref();
    let reason = verdict.reasons.get(policy).map(|reason| plain(reason));
    match (verdict.policies.get(policy), comparison) {
        (Some(Answer::NoEffect), _) => no_effect(report, policy, pair, reason.as_deref()),
        (Some(Answer::Better | Answer::Worse), Some(comparison)) => {
            differs(report, comparison, pair)
        }
        (Some(Answer::NoDifference), Some(comparison)) => same(report, comparison, pair),
        (Some(Answer::Mixed), Some(comparison)) => shape::mixed(report, comparison, pair),
        (Some(Answer::DependsOnOrder), Some(comparison)) => {
            shape::depends(report, comparison, pair)
        }
        (_, Some(comparison)) => open(report, comparison, pair, reason.as_deref()),
        (_, None) => no_answer(pair, reason.as_deref()),
    }
}

/// The comparison that was judged: of the usual run, of the mean, or of the tail.
fn judged(report: &Report<'_>, policy: &str) -> Option<Comparison> {
    let verdict = &report.table.verdict;
    let statistic = match verdict.judge_by {
        JudgeBy::P95 => Statistic::Quantile(Quantile::P95),
        _ => Statistic::Center,
    };
    let found = |statistic| {
        let mut rows = report.table.comparisons.iter();
        rows.find(|row| {
            row.metric == verdict.metric && row.statistic == statistic && row.policy == policy
        })
    };
    let usual = found(Statistic::Center)?;
    let row = found(statistic);
    let runs = verdict.runs.get(policy);
    match (verdict.judge_by, runs) {
        (JudgeBy::P95, _) if row.is_none() => Some(Comparison {
            ratio: None,
            difference: None,
            low: None,
            high: None,
            ..usual.clone()
        }),
        (JudgeBy::Mean, Some(runs)) if usual.ratio.is_some() => Some(Comparison {
            ratio: runs.mean,
            low: runs.mean_low,
            high: runs.mean_high,
            ..usual.clone()
        }),
        _ => row.cloned(),
    }
}

/// What is judged, where it is not the usual run.
fn property(report: &Report<'_>) -> &'static str {
    match report.table.verdict.judge_by {
        JudgeBy::Mean => " on average",
        JudgeBy::P95 => " at p95",
        JudgeBy::Shape | JudgeBy::Typical => "",
    }
}

fn differs(report: &Report<'_>, comparison: &Comparison, pair: &Pair) -> String {
    let metric = metric_of(report.record, &comparison.metric);
    let effect = Effect::of(&metric, comparison);
    let sentence = format!(
        "{} {} {}{} {}.",
        pair.here,
        effect.map_or_else(|| "differs from".to_owned(), |effect| effect.text(&metric)),
        pair.there,
        pair.subject,
        evidence(report, &metric, comparison, Sign::Left),
    );
    let small = match may_be_small(report, comparison) {
        true => format!(
            " That may be less than {} %.",
            chosen_percent(report.table.verdict.threshold)
        ),
        false => String::new(),
    };
    format!(
        "{sentence}{small}{}",
        shape::rare(report, &comparison.policy, pair)
    )
}

/// Whether the interval reaches into the threshold: the direction is known, the worth is not.
fn may_be_small(report: &Report<'_>, comparison: &Comparison) -> bool {
    let most = 1.0 + report.table.verdict.threshold;
    let ends = comparison.low.zip(comparison.high);
    let ratio = comparison.ratio.and(ends);
    ratio.is_some_and(|(low, high)| {
        (1.0 / most..most).contains(&low) || (1.0 / most..most).contains(&high)
    })
}

/// Whether an interval keeps its signs. In `19.8 % faster` the word is the sign.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Kept,
    Left,
}

/// `(95 %: 18.9 to 20.6 %)`, with the rounds where some were left out.
fn evidence(report: &Report<'_>, metric: &Metric, comparison: &Comparison, sign: Sign) -> String {
    let rounds = match comparison.n {
        1 => "1 round".to_owned(),
        n => format!("{n} rounds"),
    };
    let all = rounds_run(report) == comparison.n;
    match interval(metric, comparison, sign) {
        Some(interval) if all => format!("(95 %: {interval})"),
        Some(interval) => format!("(95 %: {interval}, {rounds})"),
        None => format!("({rounds})"),
    }
}

fn rounds_run(report: &Report<'_>) -> u32 {
    let rounds = report.record.trials.iter().map(|trial| trial.round + 1);
    rounds.max().unwrap_or(0)
}

pub(super) fn interval(metric: &Metric, comparison: &Comparison, sign: Sign) -> Option<String> {
    let (low, high) = (comparison.low?, comparison.high?);
    let Some(ratio) = comparison.ratio else {
        let scaler = Scaler::for_row(&metric.unit, &[low, high]);
        return Some(format!(
            "{} to {}",
            scaler.show_change(low),
            scaler.show_change(high)
        ));
    };
    Some(match sign {
        Sign::Kept => format!(
            "{} to {} %",
            percent_change(low - 1.0),
            percent_change(high - 1.0)
        ),
        Sign::Left if ratio >= 10.0 => format!("{} to {}", three_digits(low), three_digits(high)),
        Sign::Left if ratio < 1.0 => format!("{} to {} %", percent(1.0 - high), percent(1.0 - low)),
        Sign::Left => format!("{} to {} %", percent(low - 1.0), percent(high - 1.0)),
    })
}

fn same(report: &Report<'_>, comparison: &Comparison, pair: &Pair) -> String {
    let metric = metric_of(report.record, &comparison.metric);
    format!(
        "{} makes no difference within ±{} % to {}{}{} {}.{}",
        pair.here,
        chosen_percent(report.table.verdict.threshold),
        pair.there,
        of_cell(&metric),
        pair.subject,
        evidence(report, &metric, comparison, Sign::Kept),
        shape::unseen(report, &comparison.policy),
    )
}

/// Of a bench, the metric of the cell that decides.
fn of_cell(metric: &Metric) -> String {
    if metric.is_of_cell() {
        format!(" in {}", sentence_label(metric))
    } else {
        String::new()
    }
}

fn open(report: &Report<'_>, comparison: &Comparison, pair: &Pair, reason: Option<&str>) -> String {
    let metric = metric_of(report.record, &comparison.metric);
    if let Some(reason) = reason {
        return format!(
            "{} against {}: no answer{}{} {}: {}.",
            pair.here,
            pair.there,
            of_cell(&metric),
            pair.subject,
            evidence(report, &metric, comparison, Sign::Kept),
            reason.trim_end_matches('.'),
        );
    }
    let lasting = user_time::sentence(report, &comparison.policy);
    let metric_named = match lasting {
        Some(_) => " in wall time".to_owned(),
        None => of_cell(&metric),
    };
    let lead = format!(
        "{} against {}: not decided{metric_named}{}",
        pair.here, pair.there, pair.subject,
    );
    if let Some(shown) = provisional::sentence(report, &comparison.policy) {
        return format!("{lead}. {shown}");
    }
    let effect = Effect::of(&metric, comparison).map_or_else(String::new, |_| {
        format!(", {}", effect_of(report.record, comparison))
    });
    let evidence = evidence(report, &metric, comparison, Sign::Kept);
    let lead = format!("{lead}{effect} {evidence}.");
    let parts = [Some(lead), next_step(report, comparison), lasting];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// A p95 of fewer values is their maximum.
const FEWEST_FOR_P95: u32 = 20;

/// What would decide it: enough rounds, or less noise.
fn next_step(report: &Report<'_>, comparison: &Comparison) -> Option<String> {
    if comparison.low.is_none() {
        let policies = report.record.header.plan.policies.len();
        let fewest = match report.table.verdict.judge_by {
            JudgeBy::Mean => FEWEST_FOR_A_MEAN,
            JudgeBy::P95 => FEWEST_FOR_P95,
            JudgeBy::Shape | JudgeBy::Typical => fewest_rounds(policies.saturating_sub(1) as u32),
        };
        let is_short = report.other.is_none() && comparison.n < fewest;
        return is_short.then(|| format!("An answer needs at least {fewest} rounds."));
    }
    Some("Noise hides it: try longer trials or a longer --max-time.".to_owned())
}

fn no_answer(pair: &Pair, reason: Option<&str>) -> String {
    let reason = reason.unwrap_or("it was not compared");
    format!(
        "{}: no answer{}: {}.",
        pair.here,
        pair.subject,
        reason.trim_end_matches('.')
    )
}

/// The reason is the finding's where there is one: it knows more than the verdict.
fn no_effect(report: &Report<'_>, policy: &str, pair: &Pair, reason: Option<&str>) -> String {
    let finding = report.findings.iter().find(|finding| {
        let speaks = finding.policy.as_deref() == Some(policy);
        speaks && is_answer(finding)
    });
    let why = finding.map(|finding| plain(&finding.claim()));
    let why = why.or_else(|| reason.map(str::to_owned));
    let why = why.map_or_else(String::new, |why| {
        format!(": {}", why.trim_end_matches('.'))
    });
    let pages = match pair.subject.split_once(" for ") {
        Some((_, command)) => format!("the pages of {command}"),
        None => "this program's pages".to_owned(),
    };
    format!("{} had no effect on {pages}{why}.", pair.here)
}

/// Whether a finding is part of an answer.
pub(super) fn is_answer(finding: &Finding) -> bool {
    finding.answers && finding.outcome == Outcome::Shown
}

mod effect;
mod provisional;
mod shape;
#[cfg(test)]
mod tests;
mod user_time;
