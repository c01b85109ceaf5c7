//! Pools and memory limits that a policy gives the program, and others that use the processors.

use expect_test::expect;
use hugewise_model::run::findings::Outcome;
use hugewise_model::run::policy::realise::MemoryLimits;
use hugewise_model::run::policy::{Policy, Settings};
use hugewise_model::run::record::Record;
use hugewise_model::run::trial::{Mark, TrialCgroup};

use super::judged::{judge, of, says, two_arms};
use crate::sample::{self, huge_pages, small_pages, with};

const MIB: u64 = 1 << 20;

/// As-is against a policy under which some hugetlb memory was seen.
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
fn a_pool_that_nobody_uses_is_said() {
    let id = "pool-not-used";
    says(
        &judge(&record("hugetlb=2M:64", 0.0)),
        id,
        Outcome::Shown,
        &expect![[r#"
            hugetlb=2M:64: the program used no page of its hugetlb pool. The pool held 128 MiB; malloc=hugetlb lets the malloc of glibc take pages from it
        "#]],
    );
    says(
        &judge(&record("hugetlb=2M:64,malloc=hugetlb", 96.0 * 1048576.0)),
        id,
        Outcome::NotShown,
        &expect![[r#"
            hugetlb=2M:64,malloc=hugetlb: its hugetlb pool was used. 96 MiB of 128 MiB
        "#]],
    );
    assert!(of(&judge(&record("thp=never", 0.0)), id).is_none());
}

/// A limit of 512 MiB that was reached so often in the first trials.
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
fn a_limit_that_was_reached_is_said() {
    let id = "memory-limit-reached";
    says(
        &judge(&limited(&[3, 4], 0)),
        id,
        Outcome::Shown,
        &expect![[r#"
            memory-max=512M: its memory limit was reached in 2 of 12 trials. It was hit 7 times; no process was killed
        "#]],
    );
    says(
        &judge(&limited(&[], 1)),
        id,
        Outcome::Shown,
        &expect![[r#"
            memory-max=512M: its memory limit was reached in 12 of 12 trials. It was hit 0 times; 12 processes were killed
        "#]],
    );
    says(
        &judge(&limited(&[], 0)),
        id,
        Outcome::NotShown,
        &expect![[r#"
            memory-max=512M: its memory limit was reached in none of 12 trials
        "#]],
    );
    let mut unread = limited(&[], 0);
    for trial in &mut unread.trials {
        trial.read_back.cgroup = None;
    }
    says(
        &judge(&unread),
        id,
        Outcome::CannotTell,
        &expect![[r#"
            memory-max=512M: it is unknown whether its memory limit was reached. The counters of its cgroup were not read
        "#]],
    );
    assert!(of(&judge(&record("thp=never", 0.0)), id).is_none());
}

/// Off-CPU time cannot tell sleep from a wait for a processor.
#[test]
fn processors_that_others_used_are_named() {
    let id = "where-the-time-went";
    let stalls = [("direct_reclaim_seconds", 0.0), ("zeroing_seconds", 0.0)];
    let slow: Vec<_> = stalls.into_iter().chain([("wall_seconds", 9.0)]).collect();
    let mut record = two_arms(&with(&small_pages(), &stalls), &with(&huge_pages(), &slow));
    let text = |record: &Record| of(&judge(record), id).expect("a finding").text.clone();
    assert!(text(&record).contains("off-CPU time is the largest part of the time lost. "));
    for trial in record.trials.iter_mut().filter(|it| it.round % 2 == 0) {
        trial.marks.push(Mark::OtherLoad { permille: 700 });
    }
    let named =
        "off-CPU time (waits for a processor included: others used them in 12 of 24 trials)";
    let said = text(&record);
    assert!(said.contains(named), "{said}");
}
