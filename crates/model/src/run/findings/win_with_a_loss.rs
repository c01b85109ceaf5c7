//! Claims that a policy wins in the middle and loses elsewhere.
//!
//! Evidence: the verdict is better, and a tail, peak memory, swap or a kind of stall is decidedly
//! worse. Huge pages tend to gain in the mean and to lose in tails and memory, and a report of
//! the mean alone would hide it. Refuted by a service for which that other figure does not count.
//! Next: weigh the two, or let the other metric decide the verdict.

use super::ground::{Absent, Evidence, Ground, Look, Said};
use super::{Finding, Rule};
use crate::run::compare::labels::{effect_of, label_of};
use crate::run::compare::{Answer, Change, Comparison, Statistic};
use crate::run::metric;
use crate::run::metric::Better;
use crate::run::metric::MetricId;
use crate::run::metric::requests::suffix_metric;

/// See the module.
#[derive(Debug)]
pub(super) struct WinWithALoss;

/// What counts as a loss beside tails and what the workload prints. The sampled peaks of a tree do
/// not: samples are fewer where pages are small, so that small pages would seem to take less.
const COSTS: &[MetricId] = &[
    MetricId::PeakRssBytes,
    MetricId::CgroupPeakBytes,
    MetricId::MajorFaultsTotal,
    MetricId::SwappedPagesTotal,
    MetricId::AllocstallTotal,
    MetricId::CompactStallTotal,
    MetricId::DirectCompactionSeconds,
    MetricId::DirectReclaimSeconds,
    MetricId::CgroupReclaimSeconds,
];

impl Rule for WinWithALoss {
    fn id(&self) -> &'static str {
        "win-with-a-loss"
    }

    fn explain(&self) -> &'static str {
        "Claims that a policy wins in the middle and loses elsewhere. Evidence: its verdict is \
         better, and a tail, peak memory, swapping or a kind of stall is decidedly worse. Refuted \
         when that other figure does not count for the service. Next: weigh the two, or let the \
         other metric decide the verdict."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let ground = look.ground;
    if ground.answer(look.policy) != Some(Answer::Better) {
        return Ok(Said::Nothing);
    }
    let comparisons = ground
        .table
        .comparisons
        .iter()
        .filter(|c| c.policy == look.policy);
    let losses: Vec<&Comparison> = comparisons.filter(|c| is_loss(ground, c)).collect();
    let list: Vec<String> = losses.iter().map(|loss| tell(ground, loss)).collect();
    let verdict = &ground.table.verdict.metric;
    if let Some(win) = ground.comparison(verdict, look.policy) {
        note(&mut look.evidence, win);
    }
    for loss in &losses {
        note(&mut look.evidence, loss);
    }
    let lead = format!("{} is better in {}", look.policy, ground.label(verdict));
    Ok(if list.is_empty() {
        Said::NotShown(format!(
            "{lead}, and no tail, memory or stall is decidedly worse"
        ))
    } else {
        Said::Shown(format!("{lead}, but worse in {}", list.join(", ")))
    })
}

fn is_loss(ground: &Ground<'_>, comparison: &Comparison) -> bool {
    let printed = ground
        .record
        .header
        .plan
        .printed
        .iter()
        .find(|p| p.name == comparison.metric);
    let counts = comparison.statistic != Statistic::Center
        || printed.is_some()
        || suffix_metric(&comparison.metric).is_some()
        || COSTS.iter().any(|cost| cost.name() == comparison.metric);
    let better = match printed {
        Some(printed) => printed.better,
        None => metric::find(&comparison.metric).map_or(Better::Neither, |metric| metric.better),
    };
    let worse = matches!(
        (better, comparison.change),
        (Better::Lower, Change::Higher) | (Better::Higher, Change::Lower)
    );
    counts && worse
}

fn tell(ground: &Ground<'_>, loss: &Comparison) -> String {
    format!(
        "{} ({})",
        label_of(ground.record, &loss.metric, loss.statistic),
        effect_of(ground.record, loss)
    )
}

/// Both values of a comparison.
fn note(evidence: &mut Evidence, comparison: &Comparison) {
    let values = [
        (&comparison.baseline, comparison.baseline_value),
        (&comparison.policy, comparison.policy_value),
    ];
    for (policy, value) in values {
        if let Some(value) = value {
            evidence.reading(key(comparison), policy, value);
        }
    }
}

fn key(loss: &Comparison) -> String {
    match loss.statistic {
        Statistic::Center => loss.metric.clone(),
        Statistic::Quantile(quantile) => format!("{}.{}", loss.metric, quantile.word()),
    }
}
