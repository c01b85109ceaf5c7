//! Numbers that no valid measurement contains: every statistic ends soon, and none panics.

use crate::numbers::{P50, ends, number, numbers};
use hugewise_base::histogram::distribution::{Distribution, Grain};
use hugewise_experiment::run::stats::null::Null;
use hugewise_experiment::run::stats::shape::shape;
use hugewise_experiment::run::stats::{
    Draw, Sample, Side, Sums, at_most, holm, mean_ratio, median, median_interval, paired, splits,
    tails, unpaired, wilson,
};
use hugewise_text::svg::Axis;
use proptest::prelude::*;

fn draws(values: &[f64], has_control: bool) -> Vec<Draw> {
    let baselines = if has_control { 2 } else { 1 };
    let draw = |three: &[f64]| Draw::new(vec![three[0]], three[1..=baselines].to_vec());
    values.chunks_exact(3).filter_map(draw).collect()
}

fn of_draws(draws: &[Draw], shift: f64) {
    let sums = Sums::of(draws);
    let estimate = sums.estimate();
    assert_eq!(estimate.is_some(), !draws.is_empty());
    for error in [0.4, 0.025, 1e-4] {
        let _ = sums.interval(error);
        let _ = sums.interval_around(shift, error);
    }
    let _ = sums.may_refute(shift, Side::Below, 0.025, u32::MAX);
    assert!(sums.p(0.05) <= 1.0);
    let _ = mean_ratio(draws, 0.05);
    let _ = shape(draws, shift);
}

fn of_values(a: &[f64], b: &[f64]) {
    assert_eq!(median(a).is_some(), !a.is_empty());
    let _ = median_interval(a, 0.05);
    for shift in [paired(a, 0.05), unpaired(a, b, 0.05)]
        .into_iter()
        .flatten()
    {
        assert!((0.0..=1.0).contains(&shift.p), "{shift:?}");
    }
    let mut places = splits(a, 0.05, 1);
    assert!(places.is_sorted());
    places.dedup();
    assert!(places.iter().all(|place| *place < a.len()));
    let p: Vec<f64> = a.iter().map(|it| it.abs().min(1.0)).collect();
    assert!(holm(&p).iter().all(|it| *it <= 1.0));
}

/// Counts whose sum is beyond 64 bits.
fn of_counts(counts: &[(u64, u64)]) {
    let mut all = Distribution::new(Grain::Bucket, 1);
    counts.iter().for_each(|&(ns, count)| all.add(ns, count));
    let sample = Sample::Counted(&all);
    let rounds = [(sample, sample); 4];
    let shares = [0.5, 0.99, 0.999, 1.0];
    let found = tails(&rounds, &shares, |a, b| b - a, 0.05, 7);
    assert_eq!(found.len(), shares.len());
    assert_eq!(sample.middle().is_some(), all.count() > 0);
    let part = counts.first().map_or(0, |first| first.0);
    let share = wilson(part, all.count());
    assert!((0.0..=1.0).contains(&share.low) && share.high <= 1.0);
}

fn of_axes(low: f64, high: f64) {
    let axes = [
        Axis::between(low, high, (0.0, 700.0)),
        Axis::linear([low, high], (0.0, 700.0)),
        Axis::logarithmic([low, high], (0.0, 700.0)),
    ];
    for axis in axes.into_iter().flatten() {
        for unit in [
            hugewise_base::units::Unit::Seconds,
            hugewise_base::units::Unit::Bytes,
            hugewise_base::units::Unit::Count,
        ] {
            assert!(axis.ticks(&unit, 6).len() <= 8);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn sums_end(values in numbers(60), has_control: bool, shift in number()) {
        ends(move || of_draws(&draws(&values, has_control), shift));
    }

    #[test]
    fn ranks_and_medians_end(a in numbers(30), b in numbers(30)) {
        ends(move || of_values(&a, &b));
    }

    #[test]
    fn axes_end(low in number(), high in number()) {
        ends(move || of_axes(low, high));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn counts_end(counts in prop::collection::vec(
        (prop::sample::select(vec![0, 1, 1000, 1 << 62, u64::MAX]), prop::sample::select(vec![0, 1, 1 << 62, u64::MAX])),
        0..6,
    )) {
        ends(move || of_counts(&counts));
    }
}

#[test]
fn numbers_that_differ_in_the_last_place_have_an_interval() {
    let policy = |round: usize| if round % 12 == 5 { P50 + 1500.0 } else { P50 };
    let rounds = (0..12).map(|round| Draw::pair(policy(round), P50));
    let draws: Vec<Draw> = rounds.collect();
    let (low, high) = ends(move || Sums::of(&draws).interval(0.025)).expect("twelve rounds");
    assert!(
        (-1500.0..=1500.0).contains(&low) && low <= high,
        "{low} {high}"
    );
}

#[test]
fn many_hits_and_large_samples_end() {
    let hits = vec![true; 10_000];
    assert_eq!(ends(move || at_most(&hits, 0.05)), 1.0);
    assert!(ends(|| Null::signed_rank(1_000_000).tail(10)) < 1e-9);
    assert!(ends(|| Null::rank_sum(1 << 20, 1 << 20).tail(10)) < 1e-9);
}
