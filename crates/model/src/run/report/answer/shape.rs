//! Answers about single runs: mixed, dependent on what ran before, and what was not seen.

use super::super::Report;
use super::super::interval::Sign;
use super::Pair;
use super::sentence::{evidence, of_cell};
use crate::run::compare::labels::{effect_of, metric_of};
use crate::run::compare::{Answer, Comparison, Order, Runs};
use crate::run::findings::host_cold_memory::rested_run;
use crate::run::metric::{Better, Metric, MetricId};
use crate::run::plan::HostMemory;
use crate::text::ends::percent_ends;
use crate::text::number::{percent, percent_change};
use crate::text::wrap::plain;

/// The sentence of a policy whose runs go both ways.
pub(super) fn either(report: &Report<'_>, comparison: &Comparison, pair: &Pair) -> String {
    match report.table.verdict.policies.get(&comparison.policy) {
        Some(Answer::DependsOnOrder) => depends(report, comparison, pair),
        _ => mixed(report, comparison, pair),
    }
}

/// `usually faster, sometimes slower`, where more than half of the runs are, with how many runs and by how much, and the total.
pub(super) fn mixed(report: &Report<'_>, comparison: &Comparison, pair: &Pair) -> String {
    let metric = metric_of(report.record, &comparison.metric);
    let lead = format!(
        "{} against {}: mixed{}{}",
        pair.here,
        pair.there,
        of_cell(&metric),
        pair.subject
    );
    let order = dependence(report, &comparison.policy);
    let order = order.map_or_else(String::new, |it| {
        format!(" It depends on what ran before {it}")
    });
    let Some(runs) = report.table.verdict.runs.get(&comparison.policy) else {
        return format!("{lead}.{order}");
    };
    let words = Words::of(&metric);
    let often = |count: u32| 2 * count > runs.of;
    let how = match (often(runs.better), often(runs.worse)) {
        (true, _) => format!("usually {}, sometimes {}", words.better, words.worse),
        (_, true) => format!("usually {}, sometimes {}", words.worse, words.better),
        _ => format!("sometimes {}, sometimes {}", words.better, words.worse),
    };
    format!(
        "{lead}: {how}. {}; {}. {}{order}",
        share(runs.better, runs, words.better, runs.better_ratio, pair),
        share(runs.worse, runs, words.worse, runs.worse_ratio, pair),
        total(runs, &words),
    )
}

/// Better after one kind of trial, worse after another.
pub(super) fn depends(report: &Report<'_>, comparison: &Comparison, pair: &Pair) -> String {
    let metric = metric_of(report.record, &comparison.metric);
    format!(
        "{} against {}: depends on what ran before{}{}, {} over all {}.{}",
        pair.here,
        pair.there,
        of_cell(&metric),
        pair.subject,
        effect_of(report.record, comparison),
        evidence(&metric, comparison, Sign::Kept),
        dependence(report, &comparison.policy)
            .map_or_else(String::new, |it| format!(" By what that was {it}")),
    )
}

/// So many runs beyond 95 % of the baseline's are no chance of one in twenty.
const FEW: f64 = 0.1;

/// The worse runs of a policy that is better, where there are more than a few.
pub(super) fn rare(report: &Report<'_>, policy: &str, pair: &Pair) -> String {
    let verdict = &report.table.verdict;
    let is_better = verdict.policies.get(policy) == Some(&Answer::Better);
    let runs = verdict.runs.get(policy).filter(|_| is_better);
    let many = |runs: &&Runs| runs.worse >= 2 && f64::from(runs.worse) > FEW * f64::from(runs.of);
    runs.filter(many).map_or_else(String::new, |runs| {
        let words = Words::of(&metric_of(report.record, &verdict.metric));
        let worse = share(runs.worse, runs, words.worse, runs.worse_ratio, pair);
        format!(" {worse}.")
    })
}

/// Which runs the rounds were too few to see.
pub(super) fn unseen(report: &Report<'_>, policy: &str) -> String {
    let runs = report.table.verdict.runs.get(policy);
    runs.map_or_else(String::new, |runs| {
        let metric = metric_of(report.record, &report.table.verdict.metric);
        format!(
            " Rare {} runs, up to {} % of all, are not excluded.",
            Words::of(&metric).adjective,
            percent(runs.worse_at_most)
        )
    })
}

/// The effect after each kind of trial, where the order matters, and runs after a rest or how to measure them: said with
/// the first policy that it matters for, because it is tested over all of them.
fn dependence(report: &Report<'_>, policy: &str) -> Option<String> {
    let order = report.table.verdict.order.as_ref();
    let judged = &report.table.verdict.policies;
    let order = order.filter(|it| {
        let mut sensitive = it.policies.iter().filter(|name| judged.contains_key(*name));
        it.matters() && sensitive.next().is_some_and(|name| name == policy)
    })?;
    let p = match order.p < 0.001 {
        true => "p < 0.001".to_owned(),
        false => format!("p = {:.3}", order.p),
    };
    let after_rest = rested_run(&report.findings, policy).and_then(|run| run.sentence());
    let next = after_rest.unwrap_or_else(|| {
        let next = match report.record.header.plan.host_memory {
            HostMemory::AsIs => {
                "--host-memory warm (back-to-back runs) or rest:5s (runs after a pause)"
            }
            HostMemory::Warm => "--host-memory rest:5s (runs after a pause)",
            HostMemory::Rest(_) => "--host-memory warm (back-to-back runs)",
        };
        format!("Next: {next}.")
    });
    Some(format!("({p}): {}. {next}", strata(order)))
}

/// That the effect of a policy may depend on what ran before, where the order matters and no answer says so.
pub(in crate::run::report) fn may_depend(report: &Report<'_>) -> Option<String> {
    let verdict = &report.table.verdict;
    let is_open = |name: &&String| verdict.policies.get(*name) == Some(&Answer::NotDecided);
    let order = verdict.order.as_ref()?;
    let open = order.policies.iter().find(is_open)?;
    let dependence = dependence(report, open)?;
    Some(format!(
        "{} may depend on what ran before {dependence}",
        plain(open)
    ))
}

/// `right after a run with huge pages −33.7 %, less than 1 s after one −25.7 %, 1 s or more after one
/// +31.6 %`.
fn strata(order: &Order) -> String {
    let known = order.strata.iter().filter_map(|stratum| {
        let change = percent_change(stratum.ratio? - 1.0);
        let when = match (stratum.from_seconds, stratum.to_seconds) {
            (_, Some(to)) if to <= 0.0 => "right after a run with huge pages".to_owned(),
            (from, None) => format!("{from:.0} s or more after one"),
            (_, Some(to)) => format!("less than {to:.0} s after one"),
        };
        Some(format!("{when} {change} %"))
    });
    known.collect::<Vec<_>>().join(", ")
}

/// What a value that is better or worse is called.
struct Words {
    better: &'static str,
    worse: &'static str,
    adjective: &'static str,
    total: &'static str,
}

impl Words {
    fn of(metric: &Metric) -> Self {
        if metric.name == MetricId::WallSeconds.name() {
            return Self {
                better: "faster",
                worse: "slower",
                adjective: "slow",
                total: "Total time",
            };
        }
        let (better, worse) = match metric.better {
            Better::Higher => ("higher", "lower"),
            _ => ("lower", "higher"),
        };
        Self {
            better,
            worse,
            adjective: "bad",
            total: "Mean",
        }
    }
}

fn share(count: u32, runs: &Runs, word: &str, ratio: Option<f64>, pair: &Pair) -> String {
    let median = ratio.map_or_else(String::new, |ratio| {
        format!(" (median {} %)", percent_change(ratio - 1.0))
    });
    format!(
        "{count} of {} runs were {word} than 95 % of the {} runs{median}",
        runs.of, pair.there
    )
}

fn total(runs: &Runs, words: &Words) -> String {
    let Some(mean) = runs.mean else {
        return String::new();
    };
    let interval = match runs.mean_low.zip(runs.mean_high) {
        Some((low, high)) => {
            let [low, high] = percent_ends(low - 1.0, high - 1.0);
            format!(" (95 %: {low} to {high} %)")
        }
        None => String::new(),
    };
    format!(
        "{}: {} %{interval}.",
        words.total,
        percent_change(mean - 1.0)
    )
}
