//! Claims that a policy wins in the middle and loses elsewhere.

use super::context::{Claim, Context, Evidence, MissingInput, PolicyView};
use super::{Finding, Rule};
use crate::run::compare::labels::{effect_of, label_of};
use crate::run::compare::{Answer, Change, Comparison, Statistic};
use crate::run::metric;
use crate::run::metric::Better;
use crate::run::metric::MetricId;
use crate::run::metric::requests::suffix_metric;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct WinWithALoss;

/// What counts as a loss beside tails, stalls and what the workload prints; the time, where something else is
/// judged. The sampled peaks of a tree do
/// not: samples are fewer where pages are small, so that small pages would seem to take less.
const COSTS: &[MetricId] = &[
    MetricId::WallSeconds,
    MetricId::PeakRssBytes,
    MetricId::CgroupPeakBytes,
    MetricId::MajorFaultsTotal,
    MetricId::SwappedPagesTotal,
];

/// Costs that are waits of the program itself.
const STALLS: &[MetricId] = &[
    MetricId::AllocstallTotal,
    MetricId::CompactStallTotal,
    MetricId::DirectCompactionSeconds,
    MetricId::DirectReclaimSeconds,
    MetricId::CgroupReclaimSeconds,
];

/// Less than this share more memory is no price: rounding to huge pages alone takes as much.
const PRICE_OF_MEMORY: f64 = 0.05;

impl Rule for WinWithALoss {
    fn id(&self) -> &'static str {
        "win-with-a-loss"
    }

    fn explain(&self) -> &'static str {
        "Claims that a policy wins in the middle and loses elsewhere. Evidence: its verdict is \
         better, and a tail, the time, swapping, a kind of stall or peak memory (by 5 % or more) is \
         significantly worse. Refuted \
         when that other figure does not count for the service. Next: weigh the two, or let the \
         other metric decide the verdict."
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let context = view.context;
    if context.answer(view.policy) != Some(Answer::Better) {
        return Ok(Claim::Nothing);
    }
    let losses = losses(context, view.policy);
    let list: Vec<String> = losses.iter().map(|loss| tell(context, loss)).collect();
    let verdict = &context.table.verdict.metric;
    if let Some(win) = context.comparison(verdict, view.policy) {
        note(&mut view.evidence, win);
    }
    for loss in &losses {
        note(&mut view.evidence, loss);
    }
    let policy = view.policy;
    let won = context.label(verdict);
    Ok(if list.is_empty() {
        Claim::NotShown(format!(
            "{policy}: better in {won}, and no tail, time, memory or stall is significantly worse"
        ))
    } else {
        Claim::Shown(format!(
            "{policy}: worse: {}. It is better in {won}",
            list.join(", ")
        ))
    })
}

/// What a policy makes significantly worse, besides what is judged: tails, memory, stalls, what the
/// program prints.
fn losses<'a>(context: &Context<'a>, policy: &str) -> Vec<&'a Comparison> {
    let verdict = &context.table.verdict.metric;
    let rows = context.table.comparisons.iter();
    let own = rows.filter(|row| row.policy == policy);
    let beside = own.filter(|row| row.metric != *verdict || row.statistic != Statistic::Center);
    beside.filter(|row| is_loss(context, row)).collect()
}

/// The losses that are a price of the answer. Stalls are none: their time is inside the time that is
/// judged, and inside the tails.
pub(crate) fn prices<'a>(context: &Context<'a>, policy: &str) -> Vec<&'a Comparison> {
    let mut prices = losses(context, policy);
    prices.retain(|row| STALLS.iter().all(|stall| stall.name() != row.metric));
    prices
}

fn is_loss(context: &Context<'_>, comparison: &Comparison) -> bool {
    let printed = context
        .record
        .header
        .plan
        .printed
        .iter()
        .find(|p| p.name == comparison.metric);
    let counts = comparison.statistic != Statistic::Center
        || printed.is_some()
        || suffix_metric(&comparison.metric).is_some()
        || COSTS
            .iter()
            .chain(STALLS)
            .any(|cost| cost.name() == comparison.metric);
    let better = match printed {
        Some(printed) => printed.better,
        None => metric::find(&comparison.metric).map_or(Better::Neither, |metric| metric.better),
    };
    let worse = matches!(
        (better, comparison.change),
        (Better::Lower, Change::Higher) | (Better::Higher, Change::Lower)
    );
    counts && worse && (!is_memory(comparison) || is_price_of_memory(comparison))
}

fn is_memory(comparison: &Comparison) -> bool {
    let of_memory = [MetricId::PeakRssBytes, MetricId::CgroupPeakBytes];
    of_memory.iter().any(|id| id.name() == comparison.metric)
}

/// Whether the memory that a policy takes more, if it does, is enough to be a price.
pub(crate) fn is_price_of_memory(comparison: &Comparison) -> bool {
    let ratio = comparison.ratio.filter(|_| is_memory(comparison));
    ratio.is_some_and(|ratio| ratio >= 1.0 + PRICE_OF_MEMORY)
}

/// `peak memory +29.2 %`.
pub(crate) fn tell(context: &Context<'_>, loss: &Comparison) -> String {
    format!(
        "{} {}",
        label_of(context.record, &loss.metric, loss.statistic),
        effect_of(context.record, loss)
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
