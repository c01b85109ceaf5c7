//! User time when wall time does not decide.

use super::experiment::{plan, read, record_of, the_table};
use crate::run::compare::*;
use crate::run::metric::MetricId;
use crate::run::plan::Slot;
use crate::run::plan::service::Service;
use crate::run::record::Record;
use crate::run::trial::Trial;

/// Two policies whose wall time is twice as noisy as their user time and partly correlated with it. User time is
/// `factor` times that of the baseline.
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
    assert_eq!(verdict.policies["always"], PolicyAnswer::NotDecided);
    assert_eq!(verdict.user_time["always"], PolicyAnswer::Better);
}

/// Wall time and user time together: each may err in 5 % of experiments, and their errors are correlated.
#[test]
fn nothing_is_claimed_out_of_nothing() {
    let (mut wall, mut either) = (0, 0);
    for seed in 0..100 {
        let verdict = the_table(&noisy(seed, 20, 1.0)).verdict;
        let answers = verdict.policies.values();
        let is_claim = |it: &PolicyAnswer| it.is_shown();
        let claimed = answers.copied().any(|it| is_claim(&it));
        wall += u32::from(claimed);
        either += u32::from(claimed || !verdict.user_time.is_empty());
    }
    // 2.5 % is usual; a binomial count of 100 exceeds 8 with a probability below 1 in 500.
    assert!(either <= 8, "{wall} in wall time, {either} in either");
}

/// The same program as a service whose load sends `requests` in each trial, judged by throughput.
fn served(seed: u64, factor: f64, requests: impl Fn(&Trial) -> f64) -> Record {
    let mut record = noisy(seed, 20, factor);
    record.header.plan.service = Some(Service::example());
    record.header.plan.verdict_metric = "set_throughput_per_second".to_owned();
    for trial in &mut record.trials {
        let wall = trial.value(MetricId::WallSeconds).expect("it was read");
        let answered = requests(trial);
        read(trial, "set_throughput_per_second", answered / wall);
        read(trial, "set_requests_total", answered);
    }
    record
}

#[test]
fn of_a_service_user_time_is_judged_where_each_trial_answered_as_many_requests() {
    let same = the_table(&served(1, 0.85, |_| 1e5)).verdict;
    assert_eq!(same.policies["always"], PolicyAnswer::NotDecided);
    assert_eq!(same.user_time["always"], PolicyAnswer::Better);
    // A load of fixed duration does not do the same work each time.
    let other = the_table(&served(1, 0.85, |trial| f64::from(trial.index))).verdict;
    assert!(other.user_time.is_empty(), "{:?}", other.user_time);
}

/// Throughput and user time together, like wall time and user time.
#[test]
fn of_a_service_nothing_is_claimed_out_of_nothing() {
    let claims = (0..100).filter(|&seed| {
        let verdict = the_table(&served(seed, 1.0, |_| 1e5)).verdict;
        let mut answers = verdict.policies.values();
        let is_claim = |it: &PolicyAnswer| it.is_shown();
        answers.any(is_claim) || !verdict.user_time.is_empty()
    });
    let claims = claims.count();
    assert!(claims <= 8, "{claims}");
}
