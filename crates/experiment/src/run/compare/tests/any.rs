//! Whatever the readings are.

use proptest::prelude::*;

use super::experiment::{fast, plan, read, record_of, row, the_table};
use crate::base::missing::Missing;
use crate::run::compare::*;
use crate::run::trial::Reading;

fn any_reading() -> impl Strategy<Value = Option<Reading>> {
    prop_oneof![
        Just(None),
        Just(Some(Reading::missing(Missing::TooShort))),
        any::<f64>().prop_map(|value| Some(Reading::of(value))),
        (-3_i32..3).prop_map(|value| Some(Reading::of(f64::from(value)))),
        proptest::collection::vec(any::<f64>(), 0..4)
            .prop_map(|values| Some(Reading::Values { values })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_reading_makes_it_panic_and_no_interval_leaves_its_estimate(
        readings in proptest::collection::vec(any_reading(), 48), rounds in 0_u32..12,
    ) {
        let record = record_of(plan(), rounds, |trial, _| {
            if let Some(reading) = readings[trial.index as usize].clone() {
                trial.readings.insert("wall_seconds".to_owned(), reading);
            }
        });
        let table = the_table(&record);
        for row in table.comparisons.iter().filter(|row| row.statistic == Statistic::Center) {
            if let (Some(low), Some(high)) = (row.low, row.high) {
                let estimate = row.ratio.or(row.difference).expect("an interval has a middle");
                prop_assert!(low <= estimate && estimate <= high, "{row:?}");
            }
        }
        prop_assert!(progress(&record, 9).is_ok());
        prop_assert!(between(&record, &record, Across::Refused).is_ok());
    }

    #[test]
    fn the_order_of_lines_and_the_unit_do_not_matter(seed: u64, factor in 1e-3_f64..1e3) {
        let record = record_of(plan(), 12, fast);
        let mut other = record.clone();
        fastrand::Rng::with_seed(seed).shuffle(&mut other.trials);
        for trial in &mut other.trials {
            let scaled = trial.value("wall_seconds").map_or(0.0, |value| value * factor);
            read(trial, "wall_seconds", scaled);
        }
        let (plain, scaled) = (the_table(&record), the_table(&other));
        prop_assert_eq!(&plain.verdict.policies, &scaled.verdict.policies);
        prop_assert_eq!(&plain.verdict.best, &scaled.verdict.best);
        let (plain, scaled) = (row(&plain, "wall_seconds", "always"), row(&scaled, "wall_seconds", "always"));
        prop_assert!((plain.p.expect("tested") / scaled.p.expect("tested") - 1.0).abs() < 1e-9);
        for (a, b) in [(plain.ratio, scaled.ratio), (plain.low, scaled.low), (plain.high, scaled.high)] {
            prop_assert!((a.expect("positive") / b.expect("positive") - 1.0).abs() < 1e-9);
        }
    }
}
