//! The answer, sentence by sentence: whether huge pages help and by how much, then the other policies.
//! How sure it is stands after what to set ([`certainty`]).

use super::Report;
use super::conclusion::{Conclusion, HugePages, conclude};
use super::section::sections;
use super::typical::typical;
use crate::run::compare::labels::{label_with_scope, metric_of};
use crate::run::compare::medians::Medians;
use crate::run::compare::{Comparison, Statistic, summary};
use crate::run::findings::{Finding, Outcome};
use crate::run::metric::Metric;
use crate::run::plan::JudgeBy;
use crate::run::plan::service::CommandLine;
use crate::run::record::StopReason;
use crate::run::stats::Quantile;
use crate::text::wrap::{plain, quoted, short_command};

mod beside;
mod certainty;
mod effect;
mod headline;
mod more_than_pages;
mod others;
mod pages_alone;
mod programs;
mod provisional;
mod sentence;
pub(super) mod shape;
#[cfg(test)]
mod tests;
mod user_time;

pub(super) use beside::told;
pub(super) use certainty::certainty;
pub(super) use headline::told_beside;
pub(super) use more_than_pages::shown_with_more_than_pages;
pub(super) use pages_alone::pages_alone;

/// Longer commands are cut in sentences; the record has them in full.
const COMMAND_WIDTH: usize = 48;

pub(super) fn answers(report: &Report<'_>) -> Vec<String> {
    if report.compares_programs() {
        return programs::answers(report);
    }
    if is_cut_short(report) {
        return vec![format!(
            "Interrupted before one round of {} was complete: nothing can be compared yet.",
            command(report)
        )];
    }
    match conclude(report) {
        Some(conclusion) => {
            let mut answers = vec![headline::headline(report, &conclusion)];
            answers.extend(others::others(report, &conclusion));
            answers
        }
        None => by_policy(report),
    }
}

/// Whether the experiment was interrupted before anything could be compared.
pub(super) fn is_cut_short(report: &Report<'_>) -> bool {
    let end = report.record.end.as_ref();
    let mut rows = report.table.comparisons.iter();
    let is_empty = rows.all(|row| row.n == 0) && !report.table.verdict.policies.is_empty();
    is_empty && end.is_some_and(|end| end.reason == StopReason::Interrupted)
}

/// A sentence for each policy.
fn by_policy(report: &Report<'_>) -> Vec<String> {
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
            let answer =
                of_cells.unwrap_or_else(|| sentence::sentence(report, column.policy, &pair));
            answers.push(lead.unwrap_or_default() + &answer);
        }
    }
    if answers.is_empty() {
        answers.push(measured(report));
    }
    if report.other.is_some() {
        answers.insert(0, NOT_SHUFFLED.to_owned());
    }
    answers
}

/// Of two records, always: each was shuffled by itself.
const NOT_SHUFFLED: &str = "Not one experiment: the records were measured at different times, so whatever else \
                            changed from one to the other is part of each difference.";

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
    let line = plan.command.join(" ");
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    // What begins with the preparations of a shell names no server.
    let prepares = plan.shell && CommandLine::Line(line).program().is_none();
    match (&plan.service, prepares) {
        (Some(_), true) => "the service".to_owned(),
        // Its options are addresses, folders and sizes, which tell nobody what it is.
        (Some(_), false) => short_command(&naming(&words), COMMAND_WIDTH),
        (None, _) if plan.shell => short_command(&plan.command, COMMAND_WIDTH),
        (None, _) => {
            let words: Vec<String> = plan.command.iter().map(|word| quoted(word)).collect();
            short_command(&words, COMMAND_WIDTH)
        }
    }
}

/// The words before the first option and the first place that each server has of its own; of a Java program, what
/// Java runs stands behind its options.
fn naming(words: &[String]) -> Vec<String> {
    let is_java = words
        .first()
        .is_some_and(|it| it.rsplit('/').next() == Some("java"));
    let is_option = |word: &&String| word.starts_with('-');
    if is_java {
        let mut rest = words.iter().skip(1).skip_while(is_option);
        return words.iter().take(1).chain(rest.next()).cloned().collect();
    }
    let is_name = |word: &&String| !is_option(word) && !word.contains('{');
    words.iter().take_while(is_name).cloned().collect()
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

/// The comparison that was judged: of the usual run, of the mean, or of the tail.
pub(super) fn judged(report: &Report<'_>, policy: &str) -> Option<Comparison> {
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

/// Whether a finding is part of an answer.
pub(super) fn is_answer(finding: &Finding) -> bool {
    finding.answers && finding.outcome == Outcome::Shown
}

/// Whether the first sentence says that a policy is worse in something else.
pub(super) fn tells_losses(conclusion: Option<&Conclusion>, policy: Option<&str>) -> bool {
    conclusion.is_some_and(|conclusion| {
        conclusion.huge_pages == HugePages::HelpAtAPrice && conclusion.policy.as_deref() == policy
    })
}

/// A policy and the baseline, where what ran was said.
fn pair(report: &Report<'_>, policy: &str) -> Pair {
    Pair {
        here: plain(policy),
        there: plain(&report.table.verdict.baseline),
        subject: property(report).to_owned(),
    }
}
