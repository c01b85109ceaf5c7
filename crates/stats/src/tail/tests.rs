use proptest::prelude::*;

use super::*;

/// Computed by hand, from printed tables of t and of the normal distribution.
#[test]
fn few_draws_are_cut_further_out() {
    for (n, share) in [(5, 0.0010), (10, 0.0086), (20, 0.0159), (40, 0.0203)] {
        let half = expanded(0.05, n) / 2.0;
        assert!((half - share).abs() < 1e-4, "{n}: {half}");
    }
    assert_eq!(expanded(0.05, 1), 0.05);
    assert!((expanded(0.05, 1_000_000) - 0.05).abs() < 1e-5);
}

fn log_ratio(b: f64, p: f64) -> f64 {
    p.ln() - b.ln()
}

fn tail(
    rounds: &[Round],
    share: f64,
    effect: impl Fn(f64, f64) -> f64,
    alpha: f64,
    seed: u64,
) -> Option<Tail> {
    tails(rounds, &[share], effect, alpha, seed)[0]
}

#[test]
fn a_quantile_is_the_same_among_others() {
    let data = experiment(3, 1.2);
    let rounds = rounds(&data);
    let shares = [0.5, 0.95, 0.9999, 1.0];
    let together = tails(&rounds, &shares, log_ratio, 0.05, 4);
    let alone = shares.map(|share| tail(&rounds, share, log_ratio, 0.05, 4));
    assert_eq!(together, alone);
    assert_eq!(together.iter().flatten().count(), 3);
}

fn rounds(values: &[(Vec<f64>, Vec<f64>)]) -> Vec<Round<'_>> {
    let plain = |(a, b)| (Sample::Plain(a), Sample::Plain(b));
    values
        .iter()
        .map(|(a, b)| plain((&a[..], &b[..])))
        .collect()
}

fn noise(random: &mut fastrand::Rng, factor: f64, count: usize) -> Vec<f64> {
    (0..count)
        .map(|_| factor * (0.1 / (random.f64() + 0.01)).exp())
        .collect()
}

fn experiment(seed: u64, factor: f64) -> Vec<(Vec<f64>, Vec<f64>)> {
    let random = &mut fastrand::Rng::with_seed(seed);
    (0..12)
        .map(|_| (noise(random, 1.0, 50), noise(random, factor, 50)))
        .collect()
}

#[test]
fn a_quantile_is_a_value_that_was_seen() {
    let low: Vec<f64> = (1..=100).map(f64::from).collect();
    let high: Vec<f64> = low.iter().map(|v| v * 2.0).collect();
    let data = [
        (low[..50].to_vec(), high[..50].to_vec()),
        (low[50..].to_vec(), high[50..].to_vec()),
    ];
    let got = tail(&rounds(&data), 0.95, log_ratio, 0.05, 1).expect("100 values");
    assert_eq!((got.baseline, got.policy), (95.0, 190.0));
    let got = tail(&rounds(&data), 1.0, log_ratio, 0.05, 1).expect("100 values");
    assert_eq!(
        (got.baseline, got.policy, got.interval),
        (100.0, 200.0, None)
    );
    assert_eq!(tail(&rounds(&data), 0.999, log_ratio, 0.05, 1), None);
    assert_eq!(tail(&[], 1.0, log_ratio, 0.05, 1), None);
}

#[test]
fn swapping_the_arms_inverts_the_effect() {
    let data = experiment(5, 1.3);
    let back: Vec<_> = data.iter().map(|(a, b)| (b.clone(), a.clone())).collect();
    let there = tail(&rounds(&data), 0.95, log_ratio, 0.05, 9).expect("enough");
    let back = tail(&rounds(&back), 0.95, log_ratio, 0.05, 9).expect("enough");
    let (low, high) = there.interval.expect("not the largest");
    assert_eq!(back.estimate, -there.estimate);
    assert_eq!(back.interval, Some((-high, -low)));
    assert_eq!(
        there,
        tail(&rounds(&data), 0.95, log_ratio, 0.05, 9).expect("enough")
    );
}

#[test]
fn what_was_seen_is_one_of_the_swaps() {
    // Two of 2⁴⁰ swaps are as extreme as this one: no draw finds them, and p is not zero.
    let data: Vec<_> = (0..40)
        .map(|i| (vec![1.0 + f64::from(i)], vec![1000.0 + f64::from(i)]))
        .collect();
    let got = tail(&rounds(&data), 0.95, log_ratio, 0.05, 3).expect("40 values");
    assert!(got.p >= 1.0 / 2001.0 && got.p < 0.02, "{got:?}");
}

#[test]
fn no_effect_is_seldom_called_one_and_a_true_one_is_covered() {
    let (mut called, mut covered) = (0, 0);
    for seed in 0..120 {
        let same = experiment(seed, 1.0);
        let got = tail(&rounds(&same), 0.95, log_ratio, 0.05, seed).expect("enough");
        called += u32::from(got.p <= 0.05);
        let other = experiment(seed + 1000, 1.5);
        let got = tail(&rounds(&other), 0.95, log_ratio, 0.05, seed).expect("enough");
        let (low, high) = got.interval.expect("not the largest");
        covered += u32::from(low <= 1.5_f64.ln() && 1.5_f64.ln() <= high);
    }
    // Binomial, n = 120: 5 % gives 6 ± 2.4; the bootstrap should cover at least 88 %.
    assert!(called <= 15, "{called}");
    assert!(covered >= 106, "{covered}");
}

proptest! {
    #[test]
    fn marks_are_a_short_cut_and_nothing_else(
        data in prop::collection::vec(
            (prop::collection::vec(0_u32..50, 0..80), prop::collection::vec(0_u32..50, 0..80)),
            1..4,
        ),
        q in 0.0_f64..=1.0,
        weights in prop::collection::vec(0_usize..3, 8),
    ) {
        let data: Vec<_> = data
            .into_iter()
            .map(|(a, b)| [a, b].map(|values| values.into_iter().map(f64::from).collect()))
            .map(|[a, b]: [Vec<f64>; 2]| (a, b))
            .collect();
        let n = data.len();
        let arms = [&weights[..n], &weights[4..4 + n]];
        let mut all: Vec<f64> = Vec::new();
        for (round, (a, b)) in data.iter().enumerate() {
            all.extend(a.repeat(arms[0][round]));
            all.extend(b.repeat(arms[1][round]));
        }
        all.sort_by(|a, b| b.total_cmp(a));
        let expected = supports(all.len(), q).then(|| all[above(all.len(), q)]);
        prop_assert_eq!(Pool::new(&rounds(&data)).quantiles(&[q], arms), [expected]);
    }
}
