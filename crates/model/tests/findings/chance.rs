//! A C library that takes a setting in some processes and not in others.

use expect_test::expect;
use hugewise_model::run::findings::Outcome;
use hugewise_model::run::policy::Policy;
use hugewise_model::run::record::Record;

use super::judged::{judge, of, says};
use crate::sample::{self, huge_pages, small_pages};

/// `malloc=thp` under a glibc, where the first trials of the policy had small pages.
fn record(glibc: (u32, u32), without: u32) -> Record {
    let policy = Policy {
        name: "malloc=thp".to_owned(),
        settings: "malloc=thp".parse().expect("a good policy"),
    };
    let arms = [(Policy::as_is(), small_pages()), (policy, huge_pages())];
    let mut record = sample::record(&arms, 12);
    record.header.host.glibc = Some(glibc);
    let small: Vec<_> = record
        .trials
        .iter()
        .filter(|trial| trial.policy == "as-is")
        .map(|trial| trial.readings.clone())
        .collect();
    let theirs = record.trials.iter_mut();
    let theirs = theirs.filter(|trial| trial.policy == "malloc=thp" && trial.round < without);
    for (trial, readings) in theirs.zip(small) {
        trial.readings = readings;
    }
    record
}

#[test]
fn trials_that_a_setting_did_not_reach_are_counted() {
    let id = "taken-by-chance";
    says(
        &judge(&record((2, 36), 3)),
        id,
        Outcome::Shown,
        &expect![[r#"
            malloc=thp: glibc takes the setting by chance, here in 9 of 12 trials, and from 2.38 on always; with LD_BIND_NOW=1 in all or in none; the figures are over all; in the 9 alone: wall time −19.6 %
        "#]],
    );
    says(
        &judge(&record((2, 36), 0)),
        id,
        Outcome::NotShown,
        &expect![[r#"
            malloc=thp: glibc took the setting in all 12 trials
        "#]],
    );
    assert_eq!(of(&judge(&record((2, 37), 12)), id), None);
    assert_eq!(of(&judge(&record((2, 38), 3)), id), None);
}
