//! What a policy changes besides what is judged.

use super::super::Report;
use super::super::interval::{Sign, interval};
use crate::run::compare::labels::metric_of;
use crate::run::compare::{Change, Comparison, Statistic};
use crate::run::findings::Context;
use crate::run::findings::host_cold_memory::rested_run;
use crate::run::findings::win_with_a_loss::{is_price_of_memory, prices, tell};
use crate::run::metric::requests::{RequestMetric, quantile_end};
use crate::run::stats::{ALPHA, Quantile};
use crate::text::wrap::plain;

/// What a policy changes besides what is judged: throughput and p99 of requests, and what is worse.
pub(super) fn beside(report: &Report<'_>, row: &Comparison) -> String {
    let context = Context::new(report.record, &report.table);
    let worse = prices(&context, &row.policy);
    let rows = report.table.comparisons.iter();
    // The usual request is told where it is clear; its tail is always a question.
    let is_clear = |it: &Comparison| matches!(it.change, Change::Higher | Change::Lower);
    let is_told =
        |it: &Comparison| is_of_requests(it) || is_latency(it, Quantile::P50) && is_clear(it);
    let requests = rows.filter(|it| it.policy == row.policy && is_told(it));
    let other = requests.filter(|it| {
        let is_judged = it.metric == row.metric && it.statistic == row.statistic;
        !is_judged && !worse.contains(it)
    });
    let other = other.map(|it| match it.change {
        Change::CannotTell => format!(", {} (not decided)", told(&context, it)),
        _ => format!(", {}", told_with_range(&context, it)),
    });
    let mut text: String = other.collect();
    let worse: Vec<String> = worse.iter().map(|it| told(&context, it)).collect();
    if !worse.is_empty() {
        text += &format!(", but {}", worse.join(", "));
    }
    text
}

/// ` In single runs, each after 4 s of rest in which the hypervisor takes memory back, it takes 38 % longer (…).` Empty where none
/// was measured.
pub(super) fn after_rest(report: &Report<'_>, policy: &str) -> String {
    let sentence = rested_run(&report.findings, policy).and_then(|run| run.sentence());
    sentence.map_or_else(String::new, |it| format!(" {it}"))
}

/// `latency p99 −34.7 %`: a comma would part it from itself.
pub(in crate::run::report) fn told(context: &Context<'_>, row: &Comparison) -> String {
    tell(context, row).replace(", ", " ")
}

/// `latency p99 −34.7 % (95 %: −54 to −0.6 %)`.
fn told_with_range(context: &Context<'_>, row: &Comparison) -> String {
    let metric = metric_of(context.record, &row.metric);
    let range = interval(&metric, row, Sign::Kept);
    let range = range.map_or_else(String::new, |range| format!(" (95 %: {range})"));
    format!("{}{range}", told(context, row))
}

/// Throughput, or the p99 of a latency.
fn is_of_requests(row: &Comparison) -> bool {
    let is_throughput = row.statistic == Statistic::Center
        && row.metric.ends_with(RequestMetric::Throughput.name());
    is_throughput || is_latency(row, Quantile::P99)
}

/// This percentile of a latency.
fn is_latency(row: &Comparison, quantile: Quantile) -> bool {
    match row.statistic {
        Statistic::Quantile(of) => {
            of == quantile && row.metric.ends_with(RequestMetric::Latency.name())
        }
        Statistic::Center => row.metric.ends_with(&quantile_end(quantile)),
    }
}

/// ` Shown with thp=never: fork_micros −88.1 % (95 %: −90.8 to −83.8 %).` Where the judged metric is not
/// decided, what the workload prints, its requests and its price in memory may be. These are one claim, with 5 % over all of
/// them, so that a longer list finds no more by chance. What only its own interval shows is in the table, so it is said too,
/// with that doubt.
pub(super) fn shown_all_the_same(report: &Report<'_>, judged: &Comparison) -> String {
    let context = Context::new(report.record, &report.table);
    let printed = &report.record.header.plan.printed;
    let rows = report.table.comparisons.iter();
    let is_asked = |it: &&Comparison| {
        is_of_requests(it)
            || is_price_of_memory(it)
            || printed.iter().any(|known| known.name == it.metric)
    };
    let asked: Vec<&Comparison> = rows
        .filter(|it| it.policy == judged.policy && it.metric != judged.metric)
        .filter(is_asked)
        .collect();
    let level = ALPHA / asked.len() as f64;
    let directed = asked
        .iter()
        .filter(|it| matches!(it.change, Change::Higher | Change::Lower));
    let (shown, doubtful): (Vec<&Comparison>, Vec<&Comparison>) =
        directed.partition(|it| it.p.is_some_and(|p| p <= level));
    let listed = |lead: &str, rows: &[&Comparison]| {
        let told = rows.iter().map(|it| told_with_range(&context, it));
        let told: Vec<String> = told.collect();
        match told.is_empty() {
            true => String::new(),
            false => format!(" {lead}: {}.", told.join(", ")),
        }
    };
    let among = format!("Perhaps by chance, among {} such figures", asked.len());
    listed(&format!("Shown with {}", plain(&judged.policy)), &shown) + &listed(&among, &doubtful)
}
