use super::*;
use proptest::prelude::*;

/// All ways to choose `k` of `n` places, as bit masks.
fn choices(n: usize, k: usize) -> Vec<u32> {
    (0_u32..1 << n)
        .filter(|it| it.count_ones() as usize == k)
        .collect()
}

/// The block in which the places of `choice` are the policy's.
fn dealt(values: &[f64], choice: u32) -> Draw {
    let arm = |own: u32| -> Vec<f64> {
        let places = (0..values.len()).filter(|place| choice >> place & 1 == own);
        places.map(|place| values[place]).collect()
    };
    Draw::new(arm(1), arm(0)).expect("both arms have runs")
}

/// Visits every deal of these blocks, which gives the exact null distribution of any statistic.
fn every_deal(blocks: &[(Vec<f64>, usize)], mut of: impl FnMut(&[Draw])) {
    let ways: Vec<Vec<u32>> = blocks
        .iter()
        .map(|(values, k)| choices(values.len(), *k))
        .collect();
    let total: usize = ways.iter().map(Vec::len).product();
    for deal in 0..total {
        let mut rest = deal;
        let draws = blocks.iter().zip(&ways).map(|((values, _), ways)| {
            let choice = ways[rest % ways.len()];
            rest /= ways.len();
            dealt(values, choice)
        });
        of(&draws.collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Over all deals of the shuffle, the share that crosses at any look is at most the error spent by the last.
    #[test]
    fn looking_after_each_block_never_errs_more_often_than_was_spent(
        first in proptest::collection::vec(-3.0_f64..3.0, 4..=4),
        shared in proptest::collection::vec(proptest::collection::vec(-3.0_f64..3.0, 3..=3), 3..=3),
        last in proptest::collection::vec(-3.0_f64..3.0, 4..=4),
        alpha in 0.05_f64..0.5,
    ) {
        let mut blocks = vec![(first, 2)];
        blocks.extend(shared.into_iter().map(|values| (values, 1)));
        blocks.push((last, 2));
        for side in Side::BOTH {
            let (mut deals, mut crossed) = (0_u32, 0_u32);
            every_deal(&blocks, |draws| {
                let mut looks = (1..=draws.len()).map(|n| Sums::of(&draws[..n]));
                crossed += u32::from(looks.any(|sums| sums.refutes(0.0, side, alpha)));
                deals += 1;
            });
            let runs: usize = blocks.iter().map(|(values, _)| values.len()).sum();
            let allowed = spent(alpha, runs as f64);
            prop_assert!(f64::from(crossed) <= allowed * f64::from(deals) + 1e-6, "{crossed} of {deals}, {allowed}");
        }
    }
}

/// Runs whose order the policy decides, six in the first block and four in each other.
fn apart(blocks: usize) -> Vec<Draw> {
    let block = |n: usize| Draw::new(vec![2.0; n], (0..n).map(|run| run as f64 / 10.0));
    let sizes = std::iter::once(3).chain(std::iter::repeat(2));
    sizes.take(blocks).filter_map(block).collect()
}

#[test]
fn ten_runs_decide_what_orders_them_all() {
    let draws = apart(2);
    assert!(!Sums::of(&draws[..1]).refutes(0.0, Side::Above, 0.025));
    assert!(Sums::of(&draws).refutes(0.0, Side::Above, 0.025));
    assert!(!Sums::of(&draws).refutes(0.0, Side::Below, 0.025));
    assert!(!Sums::of(&draws).refutes(0.0, Side::Above, 0.02));
}

#[test]
fn a_p_value_is_at_most_the_level_exactly_if_zero_is_refuted() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut refuted = 0;
    for _ in 0..200 {
        let effect = 0.4 * random.f64();
        let block = |random: &mut fastrand::Rng| {
            Draw::new(
                vec![random.f64() + effect, random.f64() + effect],
                vec![random.f64(), random.f64()],
            )
        };
        let draws: Vec<Draw> = (0..12).filter_map(|_| block(&mut random)).collect();
        let sums = Sums::of(&draws);
        for level in [0.05, 0.01] {
            let is_refuted = Side::BOTH
                .into_iter()
                .any(|side| sums.refutes(0.0, side, level / 2.0));
            assert_eq!(sums.p(level) <= level, is_refuted);
            refuted += u32::from(is_refuted);
        }
        let (low, high) = sums.interval(0.025).expect("twelve blocks");
        let estimate = sums.estimate().expect("twelve blocks");
        assert!(
            low <= estimate && estimate <= high,
            "{low} {estimate} {high}"
        );
        assert_eq!(sums.p(0.05) <= 0.05, low > 0.0 || high < 0.0);
    }
    assert!((50..350).contains(&refuted), "{refuted}");
}

#[test]
fn the_estimate_of_a_constant_shift_is_the_shift() {
    let draws: Vec<Draw> = (0..9)
        .filter_map(|at| {
            let base = f64::from(at) / 7.0;
            Draw::new(vec![base + 0.5, base + 0.52], vec![base, base + 0.02])
        })
        .collect();
    let estimate = Sums::of(&draws).estimate().expect("nine blocks");
    assert!((estimate - 0.5).abs() < 1e-9, "{estimate}");
    assert_eq!(Sums::of(&[]).estimate(), None);
    assert_eq!(Sums::of(&[]).interval(0.025), None);
}

#[test]
fn few_blocks_may_refute_what_more_blocks_do() {
    let draws = apart(1);
    assert!(Sums::of(&draws).may_refute(0.0, Side::Above, 0.025, 1));
    let even: Vec<Draw> = (0..12)
        .map(|at| Draw::pair(f64::from(at % 2), f64::from((at + 1) % 2)))
        .collect();
    assert!(!Sums::of(&even).may_refute(5.0, Side::Above, 0.025, 4));
}
