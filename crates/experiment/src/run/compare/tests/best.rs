//! Which of several better policies is recommended.

use super::experiment::{plan, policy, read, record_of, the_table};
use crate::run::compare::*;
use crate::run::metric::MetricId;
use crate::run::plan::Slot;
use crate::run::policy::Thp;
use crate::run::policy::realise::{FileWrite, Realisation};
use crate::run::record::Record;
use crate::run::trial::{Outcome, Trial};

/// `always` writes a system setting and `malloc` does not. They take `factors` of the baseline's time, with a noise of
/// 2 %.
fn two_policies(seed: u64, rounds: u32, factors: [f64; 2]) -> Record {
    let mut plan = plan();
    plan.policies[2] = policy("malloc", Some(Thp::Madvise));
    plan.seed = seed;
    let fill = |trial: &mut Trial, slot: Slot| {
        let mut random = fastrand::Rng::with_seed(seed << 16 | u64::from(trial.index));
        let noise: f64 = (0..6).map(|_| random.f64() - 0.5).sum::<f64>() * 0.028;
        let factor = [1.0, factors[0], factors[1]][slot.policy];
        read(trial, "wall_seconds", factor * noise.exp());
        read(
            trial,
            "huge_anon_peak_bytes",
            if slot.policy > 0 { 1e9 } else { 0.0 },
        );
    };
    let mut record = record_of(plan, rounds, fill);
    let written = Realisation {
        files: vec![FileWrite {
            path: "sys/kernel/mm/transparent_hugepage/enabled".to_owned(),
            value: "always".to_owned(),
        }],
        ..Realisation::default()
    };
    let realisations = &mut record.header.realisations;
    realisations.insert("always".to_owned(), written);
    realisations.insert("malloc".to_owned(), Realisation::default());
    record
}

fn recommended(record: &Record) -> Option<String> {
    the_table(record).verdict.best
}

/// The same, with so many failed requests in each trial of `always` and of `malloc`.
fn with_failures(failures: [f64; 2]) -> Record {
    let mut record = two_policies(7, 12, [0.5, 0.8]);
    for trial in &mut record.trials {
        let failed = match &*trial.policy {
            "always" if failures[0] > 0.0 => failures[0] + f64::from(trial.round % 3),
            "malloc" => failures[1],
            _ => 0.0,
        };
        read(trial, "set_request_errors_total", failed);
    }
    record
}

#[test]
fn no_gain_is_worth_failed_requests() {
    assert_eq!(
        recommended(&with_failures([0.0, 0.0])).as_deref(),
        Some("always")
    );
    // The best one fails requests, so the second best is chosen, or none if that one fails requests too.
    assert_eq!(
        recommended(&with_failures([40.0, 0.0])).as_deref(),
        Some("malloc")
    );
    let record = with_failures([40.0, 1.0]);
    assert_eq!(recommended(&record).as_deref(), Some("never"));
    assert_eq!(
        the_table(&record).verdict.policies["always"],
        PolicyAnswer::Better
    );
}

#[test]
fn a_policy_whose_requests_fail_has_no_answer() {
    let mut record = two_policies(7, 12, [0.5, 0.8]);
    for trial in record.trials.iter_mut().filter(|it| it.policy == "always") {
        trial.outcome = Outcome::RequestsFailed {
            failed: 12_479,
            sent: 12_479,
        };
    }
    let verdict = the_table(&record).verdict;
    assert_eq!(verdict.policies["always"], PolicyAnswer::NotDecided);
    let first = "12479 of 12479 requests failed".to_owned();
    assert_eq!(verdict.reasons["always"], Why::EveryTrialFailed { first });
    assert_eq!(verdict.best.as_deref(), Some("malloc"));
}

#[test]
fn of_equal_policies_the_same_is_recommended_again_and_again() {
    let (mut same, mut placed) = (0, 0);
    for seed in 0..100 {
        let verdict = the_table(&two_policies(seed, 12, [0.8, 0.8])).verdict;
        same += u32::from(verdict.best.as_deref() == Some("malloc"));
        placed += u32::from(verdict.equals.is_empty());
    }
    assert!(same >= 95, "{same} of 100");
    // 5 % of 100 are 5; a binomial count exceeds 12 with a probability below 1 in 500.
    assert!(placed <= 12, "{placed} of 100");
}

#[test]
fn a_policy_that_is_shown_to_be_better_is_best_whatever_it_changes() {
    for rounds in [6, 12] {
        let is_always = |seed: &u64| {
            let record = two_policies(*seed, rounds, [0.7, 0.9]);
            recommended(&record).as_deref() == Some("always")
        };
        assert_eq!((0..20).filter(is_always).count(), 20, "{rounds} rounds");
    }
}

#[test]
fn equals_are_named_with_an_interval_and_the_reason() {
    let verdict = the_table(&two_policies(4, 12, [0.8, 0.8])).verdict;
    let [rival] = verdict.equals.as_slice() else {
        panic!("{verdict:?}")
    };
    assert_eq!((rival.policy.as_str(), rival.rounds), ("always", 12));
    let (low, high) = rival.low.zip(rival.high).expect("twelve rounds");
    assert!(low < 1.0 && 1.0 < high, "{rival:?}");
    assert_eq!(verdict.preference, Some(Preference::ChangesProgramAlone));
}

#[test]
fn less_memory_decides_among_policies_that_change_alike() {
    let mut record = two_policies(4, 12, [0.8, 0.8]);
    record.header.realisations.clear();
    let memory = MetricId::PeakRssBytes.name();
    for trial in &mut record.trials {
        let bytes = if trial.policy == "always" { 9e8 } else { 8e8 };
        read(trial, memory, bytes);
    }
    let verdict = the_table(&record).verdict;
    assert_eq!(verdict.best.as_deref(), Some("malloc"));
    assert_eq!(verdict.preference, Some(Preference::LessMemory));
}

/// The baseline is worse, and as-is does as well as any policy.
#[test]
fn as_is_is_kept_where_it_is_as_good_as_the_others() {
    let mut record = two_policies(5, 12, [0.8, 0.8]);
    record.header.plan.policies[2].settings = crate::run::policy::Settings::default();
    let verdict = the_table(&record).verdict;
    assert_eq!(verdict.best.as_deref(), Some("malloc"));
    assert_eq!(verdict.preference, Some(Preference::ChangesNothing));
}
