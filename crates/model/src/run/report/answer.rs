//! The answer: one sentence for each policy, with its interval.

use super::Report;
use super::section::sections;
use super::typical::typical;
use crate::run::compare::labels::{label_with_scope, metric_of};
use crate::run::compare::medians::Medians;
use crate::run::compare::{Answer, Change, Comparison, Statistic, summary};
use crate::run::findings::{Finding, Outcome};
use crate::run::metric::MetricId;
use crate::run::metric::{Better, Metric};
use crate::run::plan::service::CommandLine;
use crate::run::record::StopReason;
use crate::text::number::Scaler;
use crate::text::number::chosen_percent;
use crate::text::number::percent;
use crate::text::number::percent_change;
use crate::text::number::quantity;
use crate::text::number::three_digits;
use crate::text::number::whole;
use crate::text::wrap::plain;
use crate::text::wrap::shortened;

/// Longer commands are cut in sentences; the record has them in full.
const COMMAND_WIDTH: usize = 48;

pub(super) fn answers(report: &Report<'_>) -> Vec<String> {
    let mut answers: Vec<String> = Vec::new();
    for section in sections(report) {
        let columns = &section.columns;
        for column in columns.iter().skip(1) {
            // What ran is said once.
            let subject = if answers.is_empty() {
                format!(" for {}", command(report))
            } else {
                String::new()
            };
            let pair = Pair {
                here: plain(column.name),
                there: plain(columns[0].name),
                subject,
            };
            let lead = section.title.as_ref().map(|title| format!("{title}: "));
            let said = answer(report, column.policy, &pair);
            answers.push(lead.unwrap_or_default() + &said);
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

/// A single policy: nothing is compared, so that it is a measurement only.
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
        return format!("{what}: nothing was measured: no trial came to its end.");
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
    let comparison = report.table.comparisons.iter().find(|comparison| {
        comparison.metric == verdict.metric
            && comparison.statistic == Statistic::Center
            && comparison.policy == policy
    });
    let reason = verdict.reasons.get(policy).map(|reason| plain(reason));
    match (verdict.policies.get(policy), comparison) {
        (Some(Answer::NoEffect), _) => no_effect(report, policy, pair, reason.as_deref()),
        (Some(Answer::Better | Answer::Worse), Some(comparison)) => {
            differs(report, comparison, pair)
        }
        (Some(Answer::NoDifference), Some(comparison)) => same(report, comparison, pair),
        (_, Some(comparison)) => open(report, comparison, pair, reason.as_deref()),
        (_, None) => untold(pair, reason.as_deref()),
    }
}

fn differs(report: &Report<'_>, comparison: &Comparison, pair: &Pair) -> String {
    let metric = metric_of(report.record, &comparison.metric);
    let effect = Effect::of(&metric, comparison);
    format!(
        "{} {} {}{} {}.",
        pair.here,
        effect.map_or_else(|| "differs from".to_owned(), |effect| effect.said(&metric)),
        pair.there,
        pair.subject,
        evidence(&metric, comparison, Sign::Left),
    )
}

/// The size of an effect and which way it goes.
struct Effect {
    size: Size,
    rises: bool,
}

enum Size {
    /// Ten times or more, where a percentage is hard to read.
    Times(f64),
    /// A share or a quantity, with its unit.
    By(String),
}

impl Effect {
    fn of(metric: &Metric, comparison: &Comparison) -> Option<Self> {
        let (size, rises) = match (comparison.ratio, comparison.difference) {
            (Some(ratio), _) if ratio >= 10.0 => (Size::Times(ratio), true),
            (Some(ratio), _) => {
                let share = format!("{} %", percent((ratio - 1.0).abs()));
                (Size::By(share), ratio > 1.0)
            }
            (None, Some(difference)) => {
                let size = quantity(&metric.unit, difference.abs());
                (Size::By(size), difference > 0.0)
            }
            (None, None) => return None,
        };
        Some(Self { size, rises })
    }

    /// `is 19.8 % faster than`; for other metrics than time, with what is good:
    /// `is 4.2 % higher in p99 (worse) than`.
    fn said(&self, metric: &Metric) -> String {
        let label = sentence_label(metric);
        let is_time = metric.name == MetricId::WallSeconds.name();
        let worth = match (metric.better, self.rises) {
            (Better::Neither, _) => "",
            (Better::Lower, false) | (Better::Higher, true) => " (better)",
            (Better::Lower, true) | (Better::Higher, false) => " (worse)",
        };
        match (&self.size, self.rises) {
            (Size::Times(ratio), _) if is_time => {
                format!("takes {} times as long as", three_digits(*ratio))
            }
            (Size::Times(ratio), _) => {
                format!("has {} times the {label}{worth} of", three_digits(*ratio))
            }
            (Size::By(size), true) if is_time => format!("is {size} slower than"),
            (Size::By(size), false) if is_time => format!("is {size} faster than"),
            (Size::By(size), true) => format!("is {size} higher in {label}{worth} than"),
            (Size::By(size), false) => format!("is {size} lower in {label}{worth} than"),
        }
    }
}

/// Whether an interval keeps its signs. In `19.8 % faster` the word is the sign.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Kept,
    Left,
}

/// `(95 %: 18.9 to 20.6 %, 12 rounds)`.
fn evidence(metric: &Metric, comparison: &Comparison, sign: Sign) -> String {
    let rounds = match comparison.n {
        1 => "1 round".to_owned(),
        n => format!("{n} rounds"),
    };
    match interval(metric, comparison, sign) {
        Some(interval) => format!("(95 %: {interval}, {rounds})"),
        None => format!("({rounds})"),
    }
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
        "{} makes no difference within ±{} % to {}{}{} {}.",
        pair.here,
        chosen_percent(report.table.verdict.threshold),
        pair.there,
        of_cell(&metric),
        pair.subject,
        evidence(&metric, comparison, Sign::Kept),
    )
}

/// Of a bench, which number of which cell decides.
fn of_cell(metric: &Metric) -> String {
    if metric.is_of_cell() {
        format!(" in {}", sentence_label(metric))
    } else {
        String::new()
    }
}

/// Nobody waits for more rounds than these, and the guess is too rough to be told.
const MOST_ROUNDS: u32 = 1000;

fn open(report: &Report<'_>, comparison: &Comparison, pair: &Pair, reason: Option<&str>) -> String {
    let metric = metric_of(report.record, &comparison.metric);
    let more = match (reason, comparison.more_rounds) {
        (Some(reason), _) => format!(": {reason}"),
        (None, Some(more)) if more <= MOST_ROUNDS => {
            format!("; {}", enough_rounds(report, more))
        }
        (None, _) if comparison.low.is_some() => {
            "; more than 1,000 more rounds would be needed: a quieter machine, more work for each \
             trial or another --threshold would tell sooner"
                .to_owned()
        }
        (None, _) => String::new(),
    };
    // More rounds do not remove a reason.
    let yet = if reason.is_some() { "" } else { " yet" };
    format!(
        "{} against {}: cannot tell{yet}{}{} {}{}{}.",
        pair.here,
        pair.there,
        of_cell(&metric),
        pair.subject,
        evidence(&metric, comparison, Sign::Kept),
        among_many(report, comparison),
        more.trim_end_matches('.'),
    )
}

/// Why an interval without 0 in it decides nothing.
fn among_many(report: &Report<'_>, comparison: &Comparison) -> &'static str {
    match comparison.by_itself(report.table.verdict.threshold) {
        Change::Higher | Change::Lower => ", clear by itself, not among so many comparisons",
        _ => "",
    }
}

/// About how many rounds would tell, and what to ask for so that they are run.
fn enough_rounds(report: &Report<'_>, more: u32) -> String {
    let count = match more {
        1 => "1 more round".to_owned(),
        _ => format!("{} more rounds", whole(f64::from(more))),
    };
    if report.other.is_some() {
        return format!("about {count} in each would tell");
    }
    let rounds = report.record.trials.iter().map(|trial| trial.round + 1);
    let wanted = rounds.max().unwrap_or(0).saturating_add(more);
    let end = report.record.end.as_ref().map(|end| end.reason);
    let mut flags = Vec::new();
    if wanted > report.record.header.plan.bounds.max_rounds {
        flags.push(format!("--max-rounds {wanted}"));
    }
    if end == Some(StopReason::MaxTime) {
        flags.push("a longer --max-time".to_owned());
    }
    if flags.is_empty() {
        return format!("about {count} would tell: let it run to its end");
    }
    format!("about {count} would tell: {}", flags.join(" and "))
}

fn untold(pair: &Pair, reason: Option<&str>) -> String {
    let reason = reason.unwrap_or("it was not compared");
    format!(
        "{} cannot be judged{}: {}.",
        pair.here,
        pair.subject,
        reason.trim_end_matches('.')
    )
}

/// Why is taken from the finding, where it could tell: it knows more than the verdict.
fn no_effect(report: &Report<'_>, policy: &str, pair: &Pair, reason: Option<&str>) -> String {
    let finding = report.findings.iter().find(|finding| {
        let speaks = finding.policy.as_deref() == Some(policy);
        speaks && is_said(finding)
    });
    let why = finding.map(|finding| plain(finding.claim()));
    let why = why.or_else(|| reason.map(str::to_owned));
    let why = why.map_or_else(String::new, |why| {
        format!(": {}", why.trim_end_matches('.'))
    });
    let pages = match pair.subject.strip_prefix(" for ") {
        Some(command) => format!("the pages of {command}"),
        None => "this program's pages".to_owned(),
    };
    format!(
        "{} had no effect on {pages}, so no difference is claimed{why}.",
        pair.here
    )
}

/// Whether a finding is part of an answer, so that it need not be said again below.
pub(super) fn is_said(finding: &Finding) -> bool {
    finding.answers && finding.outcome == Outcome::Shown
}

#[cfg(test)]
mod tests;
