//! Percentiles of requests: merged, called different with the stated error, and covered by their interval.

use super::experiment::{plan, policy, read, record_of};
use super::texts;
use crate::base::histogram::distribution::{Distribution, Grain};
use crate::run::compare::{Change, Comparison, Options, PERCENTILES, Statistic, percentile, table};
use crate::run::plan::{Plan, Slot};
use crate::run::policy::Thp;
use crate::run::record::Record;
use crate::run::stats::Quantile;
use crate::run::trial::{Reading, Trial};

const METRIC: &str = "latency_seconds";

fn two_policies(seed: u64, rounds: u32) -> Plan {
    let mut plan = plan();
    plan.policies = vec![
        policy("never", Some(Thp::Never)),
        policy("always", Some(Thp::Always)),
    ];
    plan.seed = seed;
    plan.bounds.min_rounds = rounds;
    plan.bounds.max_rounds = rounds;
    plan.verdict_metric = METRIC.to_owned();
    plan
}

fn add(trial: &mut Trial, histogram: Distribution) {
    trial.readings.insert(
        METRIC.to_owned(),
        Reading::Histogram {
            histogram: Box::new(histogram),
        },
    );
}

fn normal(random: &mut fastrand::Rng) -> f64 {
    let (u, v) = (1.0 - random.f64(), random.f64());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Requests as on a shared machine: rounds drift by 10 %, trials differ by 3 % as a whole, one request in forty stalls,
/// and `always` takes `factor` as long.
fn noisy(seed: u64, rounds: u32, requests: u32, factor: f64) -> Record {
    let fill = |trial: &mut Trial, slot: Slot| {
        let of_round = &mut fastrand::Rng::with_seed(seed * 1_000 + u64::from(trial.round));
        let random = &mut fastrand::Rng::with_seed(seed * 1_000_003 + u64::from(trial.index));
        let effect = if slot.policy == 1 { factor } else { 1.0 };
        let scale = effect * (0.1 * normal(of_round) + 0.03 * normal(random)).exp();
        let mut histogram = Distribution::new(Grain::Bucket, 1);
        for _ in 0..requests {
            let stall = if random.u32(..40) == 0 { 20.0 } else { 1.0 };
            let ns = 1e5 * scale * stall * (0.4 * normal(random)).exp();
            histogram.add(ns as u64, 1);
        }
        add(trial, histogram);
    };
    record_of(two_policies(seed, rounds), rounds, fill)
}

fn rows(record: &Record, threshold: f64) -> Vec<Comparison> {
    let options = Options {
        threshold: Some(threshold),
        ..Options::default()
    };
    let table = table(record, &options).expect("a good record");
    let percentiles = table.comparisons.into_iter();
    percentiles
        .filter(|row| row.metric == METRIC && row.statistic != Statistic::Center)
        .collect()
}

fn decided(row: &Comparison) -> bool {
    matches!(row.change, Change::Higher | Change::Lower)
}

/// Returns in how many of so many experiments without an effect any percentile is called different at a threshold of
/// zero. Also returns how often the interval of each contains a true effect of 10 %.
fn calibrate(experiments: u64, rounds: u32, requests: u32) -> (u64, Vec<u64>) {
    let mut called = 0;
    let mut covered = vec![0; PERCENTILES.len()];
    for seed in 0..experiments {
        let same = noisy(seed, rounds, requests, 1.0);
        called += u64::from(rows(&same, 0.0).iter().any(decided));
        let other = noisy(seed + experiments, rounds, requests, 1.1);
        for (row, covered) in rows(&other, 0.0).iter().zip(&mut covered) {
            let holds = row
                .low
                .zip(row.high)
                .is_some_and(|(low, high)| low <= 1.1 && 1.1 <= high);
            *covered += u64::from(holds);
        }
    }
    (called, covered)
}

#[test]
fn no_effect_is_seldom_called_one_and_a_true_one_is_covered() {
    let (called, covered) = calibrate(20, 12, 900);
    // Binomial, n = 20, 5 %: 1 ± 1.0.
    assert!(called <= 4, "{called}");
    assert!(covered.iter().all(|&count| count >= 15), "{covered:?}");
}

#[test]
fn a_planted_tail_is_found_and_the_middle_left_alone() {
    // Two requests in a hundred take five times as long under `always`; the others are the same.
    let fill = |trial: &mut Trial, slot: Slot| {
        let random = &mut fastrand::Rng::with_seed(u64::from(trial.index));
        let mut histogram = Distribution::new(Grain::Bucket, 1);
        for request in 0..2_000 {
            let slow = slot.policy == 1 && request % 50 == 0;
            let ns = 1e5 * (1.0 + 0.3 * random.f64()) * if slow { 5.0 } else { 1.0 };
            histogram.add(ns as u64, 1);
        }
        add(trial, histogram);
    };
    let record = record_of(two_policies(3, 12), 12, fill);
    let changes: Vec<_> = rows(&record, 0.01)
        .iter()
        .map(|r| (r.statistic, r.change))
        .collect();
    let expected = [
        (Quantile::P50, Change::NoDifference),
        (Quantile::P90, Change::NoDifference),
        (Quantile::P99, Change::Higher),
        (Quantile::P999, Change::Higher),
        (Quantile::Max, Change::Higher),
    ];
    let expected = expected.map(|(quantile, change)| (Statistic::Quantile(quantile), change));
    assert_eq!(changes, expected);
}

#[test]
fn percentiles_are_of_all_requests_never_means_of_percentiles() {
    // One trial of a thousand fast requests, and one of ten slow ones. 1 % of all are slow, so the 99th percentile is
    // fast; the mean of both trials' percentiles would be slow.
    let fill = |trial: &mut Trial, _: Slot| {
        let mut histogram = Distribution::new(Grain::Bucket, 1);
        let (ns, count) = if trial.round == 0 {
            (1_000, 1_000)
        } else {
            (1_000_000, 10)
        };
        histogram.add(ns, count);
        add(trial, histogram);
    };
    let record = record_of(two_policies(3, 2), 2, fill);
    let p99 = percentile(&record, "never", METRIC, Quantile::P99).expect("1,010 requests");
    assert!((p99 - 1e-6).abs() < 1e-8, "{p99}");
}

#[test]
fn too_few_requests_are_said_with_the_number_needed() {
    let record = noisy(1, 12, 300, 2.0);
    let rows = rows(&record, 0.01);
    let of = |quantile| {
        rows.iter()
            .find(|row| row.statistic == Statistic::Quantile(quantile))
            .expect("a row")
    };
    assert_eq!(of(Quantile::P90).change, Change::Higher);
    let tail = of(Quantile::P999);
    assert_eq!(
        (tail.change, tail.low, tail.p),
        (Change::CannotTell, None, None)
    );
    assert_eq!(
        texts(&tail.warnings),
        ["p99.9 needs 10000 requests under each policy, and 3600 were measured"]
    );
}

#[test]
fn what_a_source_does_not_tell_widens_the_interval() {
    let fill = |grain: Grain| {
        move |trial: &mut Trial, slot: Slot| {
            let mut histogram = Distribution::new(grain, 1);
            for step in 1..=20 {
                histogram.add(step * 100_000 * (10 + slot.policy as u64) / 10, 100);
            }
            add(trial, histogram);
        }
    };
    let row = |grain| {
        let record = record_of(two_policies(3, 12), 12, fill(grain));
        rows(&record, 0.01).into_iter().next().expect("p50")
    };
    let (exact, listed) = (row(Grain::Bucket), row(Grain::Listed));
    assert_eq!(
        (exact.change, listed.change),
        (Change::Higher, Change::CannotTell)
    );
    assert!(
        listed.warnings[0]
            .to_string()
            .contains("known to within 12 % only"),
        "{:?}",
        listed.warnings
    );
}

#[test]
fn single_readings_of_percentiles_are_a_family_with_the_merged() {
    let fill = |trial: &mut Trial, slot: Slot| {
        let seconds = 0.01 + 1e-5 * f64::from(trial.index) + 0.01 * slot.policy as f64;
        read(trial, "latency_p99_seconds", seconds);
        read(trial, "latency_p50_seconds", 0.001);
    };
    let mut plan = two_policies(3, 12);
    plan.verdict_metric = "wall_seconds".to_owned();
    let table = table(&record_of(plan, 12, fill), &Options::default()).expect("good");
    let p99 = table
        .comparisons
        .iter()
        .find(|row| row.metric == "latency_p99_seconds");
    assert_eq!(p99.map(|row| row.change), Some(Change::Higher));
}
