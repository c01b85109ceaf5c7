//! Starts of servers, compared one by one.

use super::*;
use crate::base::histogram::distribution::{Distribution, Grain};
use crate::run::record::Record;
use crate::run::stats::Quantile;
use crate::run::trial::{Outcome, Role, Trial};

/// Two rounds a start; `seconds` gives the wall time of `always` by start and round.
fn record(rounds: u32, seconds: impl Fn(u32, u32) -> f64) -> Record {
    record_of(plan(), rounds, |trial, slot| {
        let start = trial.round / 2;
        trial.start = Some(start);
        let value = match slot.policy {
            1 => seconds(start, trial.round),
            _ => 1.0,
        };
        read(trial, "wall_seconds", value);
    })
}

fn of_always(record: &Record) -> Starts {
    let found = starts(record, "never", "wall_seconds");
    let mut found = found.into_iter().filter(|it| it.policy == "always");
    found.next().expect("a row")
}

fn is_near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-9
}

#[test]
fn a_start_is_the_mean_of_its_rounds() {
    let record = record(6, |start, round| {
        let change: f64 = if round % 2 == 0 { 1.1 } else { 0.9 };
        0.8 * change * 1.1_f64.powi(start as i32)
    });
    let it = of_always(&record);
    assert_eq!((it.starts, it.same_direction), (3, 3));
    let within = (1.1_f64 * 0.9).sqrt();
    assert!(is_near(it.low, 0.8 * within), "{it:?}");
    assert!(is_near(it.ratio, 0.88 * within), "{it:?}");
    assert!(is_near(it.high, 0.968 * within), "{it:?}");
}

/// Rounds agree closely, and starts scatter by 10 %: the interval is that of three starts, however many rounds each
/// has.
#[test]
fn starts_are_the_unit_of_their_interval() {
    let by_start = [0.8, 0.88, 0.968];
    let it = of_always(&record(6, |start, _| by_start[start as usize]));
    // On the logarithm the mean is ln 0.88, the deviation ln 1.1, and Student's quantile 4.3027.
    let half = 4.302_65 * 1.1_f64.ln() / 3_f64.sqrt();
    let [low, high] = it.interval.expect("three starts");
    assert!((low.ln() - (0.88_f64.ln() - half)).abs() < 1e-4, "{it:?}");
    assert!((high.ln() - (0.88_f64.ln() + half)).abs() < 1e-4, "{it:?}");
    assert!(!it.is_shown());
    // Seven: 1.3 × 2.447 × 0.0953 ÷ √7 is 0.115, less than 0.128; six have 0.130.
    assert_eq!(it.needed, Some(7));
    let few = of_always(&record(4, |_, _| 0.8));
    assert_eq!((few.interval, few.needed), (None, None));
    assert!(of_always(&record(6, |start, _| 0.8 - f64::from(start) / 100.0)).is_shown());
}

/// The same as within a round, whose agreement is shown in addition to that of the starts.
#[test]
fn both_runs_of_the_baseline_count_in_a_start() {
    let record = record_of(plan(), 6, |trial, slot| {
        trial.start = Some(trial.round / 2);
        let value = match (slot.policy, trial.role) {
            (0, Role::Control) => 0.8,
            (0, _) => 1.2,
            _ => 0.9,
        };
        read(trial, "wall_seconds", value);
    });
    let it = of_always(&record);
    assert!(is_near(it.ratio, 0.9), "{it:?}");
}

#[test]
fn a_start_in_the_other_direction_is_counted() {
    let it = of_always(&record(8, |start, _| if start == 2 { 1.02 } else { 0.9 }));
    assert_eq!((it.starts, it.same_direction), (4, 3));
    assert!(is_near(it.high, 1.02), "{it:?}");
}

#[test]
fn trials_with_servers_of_their_own_have_no_starts() {
    let record = record_of(plan(), 12, fast);
    assert!(starts(&record, "never", "wall_seconds").is_empty());
}

#[test]
fn failed_trials_and_starts_without_a_pair_are_left_out() {
    let mut record = record(6, |_, _| 0.9);
    for trial in &mut record.trials {
        if trial.policy == "always" && trial.round < 3 {
            trial.outcome = Outcome::TimedOut;
        }
    }
    assert_eq!(of_always(&record).starts, 2);
}

#[test]
fn a_start_that_was_cut_off_early_is_left_out() {
    let change = |start: u32, _| if start == 1 { 3.0 } else { 0.9 };
    let mut record = record(10, change);
    for trial in &mut record.trials {
        trial.start = Some(u32::from(trial.round > 8));
    }
    assert_eq!(of_always(&record).starts, 1);
}

#[test]
fn percentiles_are_of_all_requests_of_a_start() {
    let record = record_of(plan(), 4, |trial, slot| {
        trial.start = Some(trial.round / 2);
        let ns = if slot.policy == 1 { 2_000 } else { 1_000 };
        let mut histogram = Distribution::new(Grain::Bucket, 1);
        histogram.add(ns, 5_000);
        histogram.add(100 * ns, 10 + u64::from(trial.round));
        let reading = Reading::Histogram {
            histogram: Box::new(histogram),
        };
        trial.readings.insert("latency_seconds".to_owned(), reading);
    });
    let found = starts(&record, "never", "latency_seconds");
    let always: Vec<&Starts> = found.iter().filter(|it| it.policy == "always").collect();
    let statistics: Vec<Statistic> = always.iter().map(|it| it.statistic).collect();
    let percentiles = [Quantile::P50, Quantile::P99];
    assert_eq!(statistics, percentiles.map(Statistic::Quantile));
    assert!(
        always.iter().all(|it| (it.ratio - 2.0).abs() < 0.02),
        "{always:?}"
    );
}

/// Arbitrary trials with meaningless numbers give finite figures.
#[test]
fn zeros_have_no_ratio() {
    let spoil = |trial: &mut Trial| read(trial, "wall_seconds", 0.0);
    let mut record = record(4, |_, _| 0.9);
    record.trials.iter_mut().for_each(spoil);
    assert!(starts(&record, "never", "wall_seconds").is_empty());
}
