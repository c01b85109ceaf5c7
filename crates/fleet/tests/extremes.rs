//! Numbers that no honest fleet has: every statistic ends soon, and none panics.

use hugewise_fleet::Sums;
use hugewise_fleet::analyse::detectable_effect::{Bar, Expected, detectable};
use hugewise_fleet::analyse::estimate;
use proptest::prelude::*;

use crate::numbers::{ends, number, numbers};

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
    fn fleets_end(values in numbers(24), freedom in number(), level in number()) {
        ends(move || of_a_fleet(&values, freedom, level));
    }

    #[test]
    fn sums_end(values in numbers(9), n in prop::sample::select(vec![0, 1, 1 << 53, u64::MAX])) {
        ends(move || of_sums(&values, n));
    }
}
