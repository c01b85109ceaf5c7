//! Numbers that no honest measurement has: every statistic ends soon, and none panics.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use hugewise_model::base::histogram::distribution::{Distribution, Grain};
use hugewise_model::fleet::Sums;
use hugewise_model::fleet::analyse::estimate;
use hugewise_model::fleet::analyse::forecast::{Bar, Expected, detectable};
use hugewise_model::run::stats::null::Null;
use hugewise_model::run::stats::shape::shape;
use hugewise_model::run::stats::{
    Bets, Draw, Sample, Side, at_most, holm, mean_ratio, median, median_interval, paired, splits,
    tails, unpaired, wilson,
};
use hugewise_model::text::svg::Axis;
use proptest::prelude::*;

/// A second is plenty for a release; a debug build on a busy machine gets ten.
const PATIENCE: Duration = Duration::from_secs(10);

/// Fails where `work` does not end.
fn ends<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, done) = channel();
    let worker = thread::spawn(move || {
        let _ = sender.send(work());
    });
    match done.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(_) if worker.is_finished() => panic!("it panicked"),
        Err(_) => panic!("it has not ended after {PATIENCE:?}"),
    }
}

const P50: f64 = (1_u64 << 50) as f64;

/// Any finite number, the worst ones often.
fn number() -> impl Strategy<Value = f64> {
    let worst = prop::sample::select(vec![
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        f64::MIN_POSITIVE,
        1e-300,
        1.0,
        1.0 + f64::EPSILON,
        P50,
        P50 + 1500.0,
        -P50,
        1e15,
        1e308,
        -1e308,
        f64::MAX,
        f64::MIN,
    ]);
    let any = any::<u64>()
        .prop_map(f64::from_bits)
        .prop_filter("finite", |it| it.is_finite());
    prop_oneof![4 => worst, 1 => any, 1 => -9.0_f64..9.0]
}

/// Numbers of a few kinds, or one that comes again and again.
fn numbers(most: usize) -> impl Strategy<Value = Vec<f64>> {
    let few = prop::collection::vec(number(), 1..=3)
        .prop_flat_map(move |kinds| prop::collection::vec(prop::sample::select(kinds), 0..=most));
    prop_oneof![few, prop::collection::vec(number(), 0..=most)]
}

fn draws(values: &[f64], has_control: bool) -> Vec<Draw> {
    let draw = |three: &[f64]| Draw {
        policy: three[0],
        baseline: three[1],
        control: has_control.then_some(three[2]),
    };
    values.chunks_exact(3).map(draw).collect()
}

fn of_draws(draws: &[Draw], shift: f64) {
    let bets = Bets::on(draws);
    let estimate = bets.estimate();
    assert_eq!(estimate.is_some(), !draws.is_empty());
    for needed in [0.1, 3.7, 8.0] {
        let _ = bets.interval(needed);
        let _ = bets.interval_around(shift, needed);
    }
    let _ = bets.hope(shift, Side::Below, u32::MAX);
    assert!(bets.against(shift).p() <= 1.0);
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
            hugewise_model::base::units::Unit::Seconds,
            hugewise_model::base::units::Unit::Bytes,
            hugewise_model::base::units::Unit::Count,
        ] {
            assert!(axis.ticks(&unit, 6).len() <= 8);
        }
    }
}

fn of_a_fleet(values: &[f64], freedom: f64, level: f64) {
    let units = values.len();
    let sample = estimate::Sample {
        unit: (0..units).collect(),
        treated: (0..units).map(|at| at.is_multiple_of(2)).collect(),
        value: values.to_vec(),
        past: values.iter().rev().copied().map(Some).collect(),
        stratum: vec![0; units],
        cluster: (0..units).map(|at| at / 2).collect(),
    };
    if let Some(found) = sample.estimate() {
        let _ = (found.p(), found.p_increase(), found.interval(0.05));
        let bar = Bar {
            level: 0.05,
            family: 8,
            draws: 999,
        };
        let _ = detectable(&found, bar);
    }
    let expected = Expected {
        error: level,
        known_by: freedom,
        freedom,
    };
    for bar in [
        Bar {
            level,
            family: 1,
            draws: 0,
        },
        Bar {
            level: 0.05,
            family: usize::MAX,
            draws: u32::MAX,
        },
    ] {
        let _ = detectable(expected, bar);
    }
}

fn of_sums(values: &[f64], n: u64) {
    let mut all = Sums {
        n,
        mean: 1.0,
        m2: 0.0,
    };
    for &value in values {
        all.add(value);
        all.merge(&Sums {
            n,
            mean: value,
            m2: value.abs(),
        });
    }
    assert!(all.n >= n);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn bets_end(values in numbers(60), has_control: bool, shift in number()) {
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

    #[test]
    fn fleets_end(values in numbers(24), freedom in number(), level in number()) {
        ends(move || of_a_fleet(&values, freedom, level));
    }

    #[test]
    fn sums_end(values in numbers(9), n in prop::sample::select(vec![0, 1, 1 << 53, u64::MAX])) {
        ends(move || of_sums(&values, n));
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
    let rounds = (0..12).map(|round| Draw {
        policy: policy(round),
        baseline: P50,
        control: None,
    });
    let draws: Vec<Draw> = rounds.collect();
    let (low, high) = ends(move || Bets::on(&draws).interval(3.7)).expect("twelve rounds");
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
