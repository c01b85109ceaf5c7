//! Starts of servers that live for several trials: the effect in each start.
//!
//! Rounds within a start compare the same processes repeatedly, so their interval applies only to these processes. Some
//! things are fixed at start-up, such as the memory layout and the compiler's output, and differ between starts. For
//! those, the start is the unit.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::run::compare::Statistic;
use crate::run::compare::columns::{self, Forms};
use crate::run::compare::rounds::numbers;
use crate::run::record::Record;
use crate::run::stats::{ALPHA, Quantile, Sample, Units, quantile};
use crate::run::trial::{Role, Trial};

/// The percentiles of requests to compare start by start.
const PERCENTILES: [Quantile; 2] = [Quantile::P50, Quantile::P99];

/// One metric under one policy against the baseline, start by start.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Starts {
    /// Name of the metric.
    pub metric: String,
    /// The property of the metric; a percentile is that of all requests of a start.
    pub statistic: Statistic,
    /// Name of the policy.
    pub policy: String,
    /// Number of starts in which both were read.
    pub starts: u32,
    /// Number of starts whose change has the direction of the estimate.
    pub same_direction: u32,
    /// Ratio policy / baseline: the geometric mean over starts of the geometric mean of each start's rounds.
    pub ratio: f64,
    /// The smallest ratio of a start.
    pub low: f64,
    /// The largest ratio of a start.
    pub high: f64,
    /// The 95 % interval of the ratio over all possible starts, from this sample; `None` with fewer than three.
    pub interval: Option<[f64; 2]>,
    /// Total number of starts needed to show the direction, if further ones resemble these. `None` with fewer than
    /// three, or if a thousand are too few.
    pub needed: Option<u32>,
}

impl Starts {
    /// Returns true if the starts have shown a direction.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.interval
            .is_some_and(|[low, high]| low > 1.0 || high < 1.0)
    }
}

/// Compares the verdict metric and the percentiles of requests start by start, for every policy but
/// the baseline; starts with less than half as many rounds as the longest are left out. Empty where each trial started its own server,
/// and where a process is compared with itself.
#[must_use]
pub fn starts(record: &Record, baseline: &str, verdict_metric: &str) -> Vec<Starts> {
    if !record.header.plan.compares_starts() {
        return Vec::new();
    }
    let policies = record.header.plan.policies.iter();
    let policies = policies.filter(|policy| policy.name != baseline);
    let questions = questions(record, verdict_metric);
    policies
        .flat_map(|policy| {
            let pairs = pairs(record, baseline, &policy.name);
            let found = questions.iter().filter_map(|(metric, statistic)| {
                let ratios = pairs
                    .values()
                    .filter_map(|rounds| log_ratio(rounds, metric, *statistic));
                summary(
                    metric,
                    *statistic,
                    &policy.name,
                    &ratios.collect::<Vec<_>>(),
                )
            });
            found.collect::<Vec<_>>()
        })
        .collect()
}

/// The metrics to compare, the deciding one first.
fn questions(record: &Record, verdict_metric: &str) -> Vec<(String, Statistic)> {
    let mut metrics: BTreeSet<String> = columns::names(&[record]).into_iter().collect();
    let forms = Forms::of(record);
    metrics.retain(|name| forms.counted.contains(name.as_str()));
    let center = (verdict_metric.to_owned(), Statistic::Center);
    let deciding = (!metrics.contains(verdict_metric)).then_some(center);
    let percentiles = metrics.into_iter().flat_map(|metric| {
        PERCENTILES.map(|percentile| (metric.clone(), Statistic::Quantile(percentile)))
    });
    deciding.into_iter().chain(percentiles).collect()
}

/// The trials of one round.
#[derive(Default)]
struct Pair<'a> {
    /// The baseline, including its control.
    baseline: Vec<&'a Trial>,
    policy: Option<&'a Trial>,
}

/// The rounds in which both ran, by start. A start that ended before half of its rounds is too uncertain to count as
/// much as the others.
fn pairs<'a>(record: &'a Record, baseline: &str, policy: &str) -> BTreeMap<u32, Vec<Pair<'a>>> {
    let mut rounds: BTreeMap<(u32, u32), Pair<'_>> = BTreeMap::new();
    for trial in record.trials.iter().filter(|it| it.succeeded()) {
        let Some(start) = trial.start else { continue };
        let pair = rounds.entry((start, trial.round)).or_default();
        if trial.policy == baseline {
            pair.baseline.push(trial);
        } else if trial.policy == policy && trial.role == Role::Arm {
            pair.policy = Some(trial);
        }
    }
    rounds.retain(|_, pair| !pair.baseline.is_empty() && pair.policy.is_some());
    let mut starts: BTreeMap<u32, Vec<Pair<'_>>> = BTreeMap::new();
    for ((start, _), pair) in rounds {
        starts.entry(start).or_default().push(pair);
    }
    let most = starts.values().map(Vec::len).max().unwrap_or(0);
    starts.retain(|_, rounds| 2 * rounds.len() >= most);
    starts
}

/// The change of one start, as the logarithm of a ratio.
fn log_ratio(rounds: &[Pair<'_>], metric: &str, statistic: Statistic) -> Option<f64> {
    let samples = rounds.iter().filter_map(|pair| {
        let baseline = pair.baseline.iter();
        let baseline = baseline.map(|trial| numbers(trial, metric).ok());
        let baseline: Vec<Sample<'_>> = baseline.collect::<Option<_>>()?;
        Some((baseline, numbers(pair.policy?, metric).ok()?))
    });
    let (baseline, policy): (Vec<Vec<Sample<'_>>>, Vec<Sample<'_>>) = samples.unzip();
    match statistic {
        Statistic::Center => {
            let changes = baseline.iter().zip(&policy);
            let changes = changes.map(|(baseline, policy)| {
                let middles = baseline.iter().map(|sample| sample.middle());
                of(
                    mean(&middles.collect::<Option<Vec<f64>>>()?)?,
                    policy.middle()?,
                )
            });
            mean(&changes.collect::<Option<Vec<f64>>>()?)
        }
        Statistic::Quantile(which) => {
            let at = |all: &[Sample<'_>]| quantile(all, which.share());
            of(at(&baseline.concat())?, at(&policy)?)
        }
    }
}

/// The logarithm of a ratio of two positive numbers.
fn of(baseline: f64, policy: f64) -> Option<f64> {
    let change = (policy / baseline).ln();
    (baseline > 0.0 && policy > 0.0 && change.is_finite()).then_some(change)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn summary(metric: &str, statistic: Statistic, policy: &str, changes: &[f64]) -> Option<Starts> {
    let estimate = mean(changes)?;
    let same = changes.iter().filter(|it| **it * estimate > 0.0);
    let units = Units::of(changes);
    let interval = units.map(|units| units.of_mean(ALPHA));
    Some(Starts {
        interval: interval.map(|(low, high)| [low.exp(), high.exp()]),
        needed: units.and_then(|units| units.needed(ALPHA)),
        metric: metric.to_owned(),
        statistic,
        policy: policy.to_owned(),
        starts: changes.len() as u32,
        same_direction: same.count() as u32,
        ratio: estimate.exp(),
        low: changes.iter().copied().fold(f64::INFINITY, f64::min).exp(),
        high: changes
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max)
            .exp(),
    })
}
