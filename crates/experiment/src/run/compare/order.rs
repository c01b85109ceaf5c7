//! Does a trial depend on what ran before it?
//!
//! A run under one policy can leave the machine in a state that affects the next one: free huge blocks that are still
//! backed, or that the host has taken back. The shuffle spreads such carry-over over the arms, but not evenly if only
//! some policies are sensitive. It can be tested because the preceding run was randomised: if the order changes
//! nothing, any other order of a round would have given the same values. The p-value comes from a randomisation test of
//! 2,000 orders (Phipson and Smyth, 2010, for the count).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::compare::rounds::numbers;
use crate::run::metric::{Counter, MetricId};
use crate::run::record::Record;
use crate::run::stats::{ALPHA, median, median_interval};
use crate::run::trial::{Role, Trial};

/// Number of random orders.
const ORDERS: usize = 2000;
/// Fewer trials under a policy do not reveal an effect of their order.
const FEWEST: usize = 5;
/// After this many seconds, memory given back to a host is cold.
const LATER: f64 = 1.0;

/// The effect of the order of the trials.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Order {
    /// p-value of "the order changes nothing".
    pub p: f64,
    /// The policies whose trials were tested: those with huge pages.
    pub policies: Vec<String>,
    /// Their trials by the time since the last trial with huge pages.
    pub strata: Vec<Stratum>,
}

/// Trials grouped by the time since the last trial with huge pages.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Stratum {
    /// Seconds since the last trial with huge pages: lower bound, inclusive.
    pub from_seconds: f64,
    /// Upper bound, exclusive; `None` if there is none.
    pub to_seconds: Option<f64>,
    /// Number of trials.
    pub trials: u32,
    /// Their median ratio to the baseline of the same round.
    pub ratio: Option<f64>,
    /// Lower end of the interval of that median (sign test); `None` with too few trials.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default)]
    pub high: Option<f64>,
}

impl Stratum {
    /// The side of the baseline on which its whole interval is.
    fn side(&self) -> Option<Ordering> {
        let (low, high) = self.low.zip(self.high)?;
        match (low > 1.0, high < 1.0) {
            (true, _) => Some(Ordering::Greater),
            (_, true) => Some(Ordering::Less),
            (false, false) => None,
        }
    }
}

impl Order {
    /// Returns true if the order was shown to matter.
    #[must_use]
    pub fn matters(&self) -> bool {
        self.p <= ALPHA
    }

    /// The median ratios of the trials right after one with huge pages, and of those later.
    #[must_use]
    pub fn ends(&self) -> Option<(f64, f64)> {
        Some((self.strata.first()?.ratio?, self.strata.last()?.ratio?))
    }

    /// Returns true if the trials right after one with huge pages and the later ones were shown to be on different
    /// sides of the baseline. Estimates differ in sign by chance in half of all experiments.
    #[must_use]
    pub fn shows_both_ways(&self) -> bool {
        let ends = self.strata.first().zip(self.strata.last());
        let sides = ends.and_then(|(first, last)| first.side().zip(last.side()));
        sides.is_some_and(|(first, last)| first != last)
    }
}

/// One trial in the order of its round.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// True if its arm uses huge pages.
    is_huge: bool,
    /// Rank of its value among those of its arm, from the middle; zero for trials outside the test.
    rank: f64,
    /// How long it ran, in seconds.
    seconds: f64,
    /// Ratio to the baseline of its round.
    ratio: Option<f64>,
}

/// Tests the order of a record in one metric. Returns `None` if all policies use huge pages or none does, or if too
/// little was measured. Also for programs, whose differences have other causes.
pub(super) fn order(record: &Record, metric: &str) -> Option<Order> {
    let plan = &record.header.plan;
    // A period begins with memory that was just switched, whatever preceded it.
    if !plan.programs.is_empty() || plan.live.is_some() {
        return None;
    }
    let huge = policies_with_huge_pages(record);
    let arms: Vec<(&str, Role)> = arms(record);
    let is_huge: Vec<bool> = arms.iter().map(|(name, _)| huge.contains(name)).collect();
    if !is_huge.contains(&true) || !is_huge.contains(&false) {
        return None;
    }
    let rounds = rounds(record, metric, &arms, &is_huge)?;
    Some(Order {
        p: p(&rounds, record.header.plan.seed),
        policies: huge.into_iter().map(str::to_owned).collect(),
        strata: strata(&rounds),
    })
}

/// The probability of a statistic this far from the mean of all orders. That mean is not zero if the machine drifts and
/// policies are dropped: gaps and values then both change with time.
fn p(rounds: &[Vec<Run>], seed: u64) -> f64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut shuffled = rounds.concat();
    let mut all = vec![statistic(&shuffled)];
    all.extend((0..ORDERS).map(|_| {
        let mut rest = shuffled.as_mut_slice();
        for round in rounds {
            let (runs, later) = rest.split_at_mut(round.len());
            random.shuffle(runs);
            rest = later;
        }
        statistic(&shuffled)
    }));
    let middle = all.iter().sum::<f64>() / all.len() as f64;
    let seen = (all[0] - middle).abs();
    let as_far = all.iter().filter(|other| (*other - middle).abs() >= seen);
    as_far.count() as f64 / all.len() as f64
}

fn arms(record: &Record) -> Vec<(&str, Role)> {
    let policies = record.header.plan.policies.iter();
    let arms = policies.map(|policy| (policy.name.as_str(), Role::Arm));
    arms.chain([(record.header.plan.baseline.as_str(), Role::Control)])
        .collect()
}

/// The policies whose typical trial has at least one huge page, by memory or by faults.
fn policies_with_huge_pages(record: &Record) -> Vec<&str> {
    let usual = |policy: &str, metric: MetricId| {
        let trials = record.trials.iter().filter(|it| it.policy == policy);
        let values: Vec<f64> = trials
            .filter_map(|trial| trial.value(metric.name()))
            .collect();
        median(&values).unwrap_or(0.0)
    };
    let policies = record.header.plan.policies.iter();
    let names = policies.map(|policy| policy.name.as_str());
    names
        .filter(|name| {
            usual(name, MetricId::HugeAnonPeakBytes) > 0.0
                || usual(name, MetricId::Counter(Counter::ThpFaultAlloc)) >= 1.0
        })
        .collect()
}

fn rounds(
    record: &Record,
    metric: &str,
    arms: &[(&str, Role)],
    is_huge: &[bool],
) -> Option<Vec<Vec<Run>>> {
    let mut values: Vec<Vec<f64>> = vec![Vec::new(); arms.len()];
    let mut rounds: BTreeMap<u32, Vec<(usize, f64, &Trial)>> = BTreeMap::new();
    let mut trials: Vec<&Trial> = record.trials.iter().filter(|it| it.succeeded()).collect();
    trials.sort_by_key(|trial| trial.index);
    for trial in trials {
        let arm = arms
            .iter()
            .position(|&(name, role)| name == trial.policy && role == trial.role);
        let value = numbers(trial, metric).ok().and_then(|it| it.middle());
        if let (Some(arm), Some(value)) = (arm, value) {
            values[arm].push(value);
            rounds
                .entry(trial.round)
                .or_default()
                .push((arm, value, trial));
        }
    }
    let looked_at = values.iter().zip(is_huge).filter(|(_, huge)| **huge);
    if !looked_at.clone().any(|(values, _)| values.len() >= FEWEST) {
        return None;
    }
    for values in &mut values {
        values.sort_unstable_by(f64::total_cmp);
    }
    let run = |(arm, value, trial): &(usize, f64, &Trial), baseline: Option<f64>| Run {
        is_huge: is_huge[*arm],
        rank: if is_huge[*arm] {
            rank(&values[*arm], *value)
        } else {
            0.0
        },
        seconds: trial.value(MetricId::WallSeconds.name()).unwrap_or(0.0),
        ratio: baseline
            .map(|baseline| value / baseline)
            .filter(|it| it.is_finite()),
    };
    let baseline = record.header.plan.baseline_index();
    let in_order = rounds.values().map(|trials| {
        let own = trials
            .iter()
            .filter(|(arm, ..)| *arm == baseline || *arm + 1 == arms.len());
        let own: Vec<f64> = own.map(|(_, value, _)| *value).collect();
        let mean = (!own.is_empty()).then(|| own.iter().sum::<f64>() / own.len() as f64);
        trials.iter().map(|trial| run(trial, mean)).collect()
    });
    Some(in_order.collect())
}

/// From −1 to 1 over the sorted values of an arm; ties get their mean rank.
fn rank(sorted: &[f64], value: f64) -> f64 {
    let below = sorted.partition_point(|&other| other < value);
    let not_above = sorted.partition_point(|&other| other <= value);
    (below + not_above) as f64 / sorted.len() as f64 - 1.0
}

/// Seconds since the last trial with huge pages ended, for each trial with huge pages that has
/// one before it.
fn gaps(runs: &[Run]) -> impl Iterator<Item = (f64, Run)> {
    let mut since: Option<f64> = None;
    runs.iter().filter_map(move |run| {
        if !run.is_huge {
            since = since.map(|since| since + run.seconds);
            return None;
        }
        let gap = since;
        since = Some(0.0);
        Some((gap?, *run))
    })
}

/// The association of long gaps with high values: the covariance of the two. All gaps long enough for memory to get
/// cold count as equal.
fn statistic(runs: &[Run]) -> f64 {
    let (mut n, mut gaps_sum, mut ranks, mut products) = (0.0, 0.0, 0.0, 0.0);
    for (gap, run) in gaps(runs) {
        let gap = gap / (gap + LATER);
        n += 1.0;
        gaps_sum += gap;
        ranks += run.rank;
        products += gap * run.rank;
    }
    products - gaps_sum * ranks / f64::max(n, 1.0)
}

fn strata(rounds: &[Vec<Run>]) -> Vec<Stratum> {
    let gaps: Vec<(f64, Run)> = gaps(&rounds.concat()).collect();
    let ends = [
        (0.0, Some(f64::MIN_POSITIVE)),
        (f64::MIN_POSITIVE, Some(LATER)),
        (LATER, None),
    ];
    let stratum = |(from, to): (f64, Option<f64>)| {
        let inside = |gap: f64| gap >= from && to.is_none_or(|to| gap < to);
        let runs: Vec<&Run> = gaps
            .iter()
            .filter(|(gap, _)| inside(*gap))
            .map(|(_, it)| it)
            .collect();
        let ratios: Vec<f64> = runs.iter().filter_map(|run| run.ratio).collect();
        let (low, high) = median_interval(&ratios, ALPHA).unzip();
        Stratum {
            from_seconds: if from < LATER { 0.0 } else { from },
            to_seconds: to.map(|to| if to < LATER { 0.0 } else { to }),
            trials: runs.len() as u32,
            ratio: median(&ratios),
            low,
            high,
        }
    };
    ends.map(stratum)
        .into_iter()
        .filter(|it| it.trials > 0)
        .collect()
}
