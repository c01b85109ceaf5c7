//! User time beside a wall time that does not tell.

use super::experiment::{plan, read, record_of, the_table};
use crate::run::compare::*;
use crate::run::plan::Slot;
use crate::run::record::Record;
use crate::run::trial::Trial;

/// Two policies whose wall time is twice as noisy as their user time, with which it goes in part;
/// user time is `factor` times that of the baseline.
fn noisy(seed: u64, rounds: u32, factor: f64) -> Record {
    let mut plan = plan();
    plan.seed = seed;
    let fill = |trial: &mut Trial, slot: Slot| {
        let mut random = fastrand::Rng::with_seed(seed << 16 | u64::from(trial.index));
        let mut noise = || (0..6).map(|_| random.f64() - 0.5).sum::<f64>() * 0.03;
        let (user, other) = (noise(), noise());
        let effect = if slot.policy > 0 { factor } else { 1.0 };
        read(trial, "user_seconds", effect * user.exp());
        read(trial, "wall_seconds", (user + 1.7 * other).exp());
    };
    record_of(plan, rounds, fill)
}

#[test]
fn user_time_is_judged_where_wall_time_is_not_decided() {
    let verdict = the_table(&noisy(1, 20, 0.85)).verdict;
    assert_eq!(verdict.policies["always"], Answer::NotDecided);
    assert_eq!(verdict.user_time["always"], Answer::Better);
}

/// Wall time and user time together: each may err in 5 % of experiments, and they err together.
#[test]
fn nothing_is_claimed_out_of_nothing() {
    let (mut wall, mut either) = (0, 0);
    for seed in 0..100 {
        let verdict = the_table(&noisy(seed, 20, 1.0)).verdict;
        let answers = verdict.policies.values();
        let is_claim = |it: &Answer| matches!(it, Answer::Better | Answer::Worse | Answer::Mixed);
        let claimed = answers.copied().any(|it| is_claim(&it));
        wall += u32::from(claimed);
        either += u32::from(claimed || !verdict.user_time.is_empty());
    }
    // 2.5 % is usual; a binomial count of 100 exceeds 8 with a probability below 1 in 500.
    assert!(either <= 8, "{wall} in wall time, {either} in either");
}
