//! Pools and memory limits that a policy gives the program, and other programs that use the processors.

use hugewise_experiment::run::cause::facts::{Pool, pool};
use hugewise_experiment::run::cause::{CauseId, Part};
use hugewise_experiment::run::policy::realise::MemoryLimits;
use hugewise_experiment::run::policy::{Policy, Settings};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::trial::{Mark, TrialCgroup};

use super::judged::{figures, is_silent, judge, two_arms};
use crate::sample::{self, huge_pages, small_pages, with};

const MIB: u64 = 1 << 20;

/// As-is against a policy with some hugetlb memory in its samples.
fn record(policy: &str, hugetlb: f64) -> Record {
    let settings: Settings = policy.parse().expect("a good policy");
    let arm = Policy {
        name: policy.to_owned(),
        settings,
    };
    let figures = |bytes| with(&small_pages(), &[("hugetlb_peak_bytes", bytes)]);
    let arms = [(Policy::as_is(), figures(0.0)), (arm, figures(hugetlb))];
    sample::record(&arms, 12)
}

#[test]
fn a_pool_has_its_size_and_its_use() {
    let of = |policy: &str, hugetlb: f64| pool(&record(policy, hugetlb), policy);
    let unused = Pool {
        bytes: 128 * MIB,
        used_bytes: Some(0.0),
    };
    assert_eq!(of("hugetlb=2M:64", 0.0), Some(unused));
    let used = of("hugetlb=2M:64,malloc=hugetlb", 96.0 * 1_048_576.0).expect("a pool");
    assert_eq!(used.used_bytes, Some(96.0 * 1_048_576.0));
    assert_eq!(of("thp=never", 0.0), None);
}

/// A limit of 512 MiB, reached so often in the first trials.
fn limited(reached: &[u64], killed: u64) -> Record {
    let policy = "memory-max=512M";
    let mut record = record(policy, 0.0);
    let limits = MemoryLimits {
        max_bytes: Some(512 * MIB),
        high_bytes: None,
    };
    let set = record.header.realisations.get_mut(policy);
    set.expect("a policy").limits = limits;
    let trials = record.trials.iter_mut();
    let trials = trials.filter(|trial| trial.policy == policy);
    let times = reached.iter().copied().chain(std::iter::repeat(0));
    for (trial, times) in trials.zip(times) {
        trial.read_back.cgroup = Some(TrialCgroup {
            limits,
            at_max: Some(times),
            over_high: None,
            killed: Some(killed),
        });
    }
    record
}

#[test]
fn a_limit_that_was_reached_is_counted() {
    let some = figures!(judge(&limited(&[3, 4], 0)), MemoryLimitReached, Shown);
    assert_eq!((some.reached, some.read, some.trials), (2, 12, 12));
    assert_eq!((some.hits, some.killed), (7, 0));
    let killed = figures!(judge(&limited(&[], 1)), MemoryLimitReached, Shown);
    assert_eq!((killed.reached, killed.hits, killed.killed), (12, 0, 12));
    let none = figures!(judge(&limited(&[], 0)), MemoryLimitReached, NotShown);
    assert_eq!((none.reached, none.read), (0, 12));
    let mut unread = limited(&[], 0);
    for trial in &mut unread.trials {
        trial.read_back.cgroup = None;
    }
    let unread = figures!(judge(&unread), MemoryLimitReached, CannotTell);
    assert_eq!((unread.read, unread.trials), (0, 12));
    assert!(is_silent(
        &record("thp=never", 0.0),
        CauseId::MemoryLimitReached
    ));
}

/// Off-CPU time does not distinguish sleep from a wait for a processor.
#[test]
fn processors_that_others_used_are_counted() {
    let stalls = [("direct_reclaim_seconds", 0.0), ("zeroing_seconds", 0.0)];
    let slow: Vec<_> = stalls.into_iter().chain([("wall_seconds", 9.0)]).collect();
    let mut record = two_arms(&with(&small_pages(), &stalls), &with(&huge_pages(), &slow));
    let parts = figures!(judge(&record), Breakdown, Shown);
    assert_eq!(parts.dominant, Some(Part::OffCpu));
    assert_eq!(parts.seconds.expect("seconds").contended_trials, 0);
    for trial in record.trials.iter_mut().filter(|it| it.round % 2 == 0) {
        trial.marks.push(Mark::OtherLoad { permille: 700 });
    }
    let seconds = figures!(judge(&record), Breakdown, Shown)
        .seconds
        .expect("seconds");
    assert_eq!((seconds.contended_trials, seconds.trials), (12, 24));
}
