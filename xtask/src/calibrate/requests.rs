//! Percentiles of simulated requests: how often one is reported as different without an effect, and how often its
//! interval contains a true one.

use std::time::Instant;

use anyhow::Result;
use hugewise_base::histogram::distribution::{Distribution, Grain};
use hugewise_experiment::run::compare::{
    self, Change, Comparison, Options, PERCENTILES, Statistic,
};
use hugewise_experiment::run::plan::Blocks;
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::trial::Reading;

use super::experiment::{Run, Scenario, Truth, trial};
use super::noise::{Noise, normal};
use super::side_by_side;
use super::table::{SECONDS_TAKEN, Table, seconds_since};

const METRIC: &str = "latency_seconds";
/// Rounds of an experiment, one row each.
const ROUNDS: [u32; 3] = [10, 20, 40];
/// Requests of a trial.
const REQUESTS: u32 = 1_500;
/// The factor on the time of every request under the policy, if there is an effect.
const EFFECT: f64 = 1.1;

/// Returns the table; each row has this number of experiments without an effect, and as many with one.
///
/// # Errors
/// The statistics refuse a simulated record.
pub(super) fn table(experiments: u32) -> Result<Table> {
    let row = |rounds: u32| -> Result<Vec<String>> {
        let begun = Instant::now();
        let called = side_by_side(experiments, |seed| {
            let rows = percentiles(seed, rounds, 1.0)?;
            Ok(rows.iter().any(is_different))
        })?;
        let held = side_by_side(experiments, |seed| {
            let rows = percentiles(seed + u64::from(experiments), rounds, EFFECT)?;
            Ok(rows.iter().map(holds).collect::<Vec<_>>())
        })?;
        let of_percentile = |at: usize| percent(held.iter().filter_map(|row| *row.get(at)?));
        let cells = [rounds.to_string(), percent(called.iter().copied())];
        Ok(cells
            .into_iter()
            .chain((0..PERCENTILES.len()).map(of_percentile))
            .chain([seconds_since(begun)])
            .collect())
    };
    Ok(Table {
        head: vec![
            "rounds",
            "A/A, threshold 0: any percentile different",
            "10 %: p50 in its interval",
            "p90",
            "p99",
            "p99.9",
            "longest",
            SECONDS_TAKEN,
        ],
        rows: ROUNDS.into_iter().map(row).collect::<Result<_>>()?,
        sum: format!("{experiments} experiments for each row; `~` where there is no interval."),
    })
}

fn percent(hits: impl Iterator<Item = bool>) -> String {
    let hits: Vec<bool> = hits.collect();
    if hits.is_empty() {
        return "~".to_owned();
    }
    let share = hits.iter().filter(|&&hit| hit).count() as f64 / hits.len() as f64;
    format!("{:.1} %", 100.0 * share)
}

fn is_different(row: &Comparison) -> bool {
    matches!(row.change, Change::Higher | Change::Lower)
}

/// Returns true if the interval contains the effect; `None` without an interval.
fn holds(row: &Comparison) -> Option<bool> {
    let (low, high) = row.low.zip(row.high)?;
    Some(low <= EFFECT && EFFECT <= high)
}

fn percentiles(seed: u64, rounds: u32, factor: f64) -> Result<Vec<Comparison>> {
    let options = Options {
        threshold: Some(0.0),
        ..Options::default()
    };
    let table = compare::table(&record(seed, rounds, factor), &options)?;
    let is_percentile = |row: &Comparison| row.statistic != Statistic::Center;
    let rows = table.comparisons.into_iter();
    Ok(rows
        .filter(|row| row.metric == METRIC && is_percentile(row))
        .collect())
}

/// Simulates requests on a shared machine: rounds drift by 10 %, trials differ by 3 % as a whole, and one request in
/// forty stalls.
fn record(seed: u64, rounds: u32, factor: f64) -> Record {
    let scenario = Scenario {
        noise: Noise::Still,
        truth: Truth::Shift(0.0),
        threshold: 0.0,
        policies: 2,
        max_rounds: rounds,
    };
    let mut header = scenario.header(seed);
    header.plan.verdict_metric = METRIC.to_owned();
    // Servers keep shared rounds.
    header.plan.blocks = Blocks::Shared;
    let mut record = Record::begin(header);
    for round in 0..rounds {
        let of_round = 0.1
            * normal(&mut fastrand::Rng::with_seed(
                seed * 1_000 + u64::from(round),
            ));
        for slot in record.header.plan.round(round, |_| true) {
            let index = record.trials.len();
            let random = &mut fastrand::Rng::with_seed(seed * 1_000_003 + index as u64);
            let effect = if slot.policy == 1 { factor } else { 1.0 };
            let scale = effect * (of_round + 0.03 * normal(random)).exp();
            let policy = &record.header.plan.policies[slot.policy];
            let mut trial = trial(index, round, (policy, slot.role), Run::default());
            let histogram = requests(scale, random);
            let reading = Reading::Histogram {
                histogram: Box::new(histogram),
            };
            trial.readings = [(METRIC.to_owned(), reading)].into_iter().collect();
            record.trials.push(trial);
        }
    }
    record
}

fn requests(scale: f64, random: &mut fastrand::Rng) -> Distribution {
    let mut histogram = Distribution::new(Grain::Bucket, 1);
    for _ in 0..REQUESTS {
        let stall = if random.u32(..40) == 0 { 20.0 } else { 1.0 };
        let ns = 1e5 * scale * stall * (0.4 * normal(random)).exp();
        histogram.add(ns as u64, 1);
    }
    histogram
}
