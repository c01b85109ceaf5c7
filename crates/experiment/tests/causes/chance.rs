//! A C library that takes a setting in some processes and not in others.

use hugewise_experiment::run::cause::facts::{Taken, taken_by_chance};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::Record;

use super::judged::near_of;
use crate::sample::{self, huge_pages, small_pages, table};

/// `malloc=thp` under a glibc, whose first trials had small pages.
fn record(glibc: (u32, u32), without: u32) -> Record {
    let policy = Policy {
        name: "malloc=thp".to_owned(),
        settings: "malloc=thp".parse().expect("a good policy"),
    };
    let arms = [(Policy::as_is(), small_pages()), (policy, huge_pages())];
    let mut record = sample::record(&arms, 12);
    record.header.host.glibc = Some(glibc);
    let small = record.trials.iter().filter(|trial| trial.policy == "as-is");
    let small: Vec<_> = small.map(|trial| trial.readings.clone()).collect();
    let theirs = record.trials.iter_mut();
    let theirs = theirs.filter(|trial| trial.policy == "malloc=thp" && trial.round < without);
    for (trial, readings) in theirs.zip(small) {
        trial.readings = readings;
    }
    record
}

#[test]
fn trials_that_a_setting_did_not_reach_are_counted() {
    let taken = |record: &Record| taken_by_chance(record, &table(record, 0.005), "malloc=thp");
    let some = taken(&record((2, 36), 3)).expect("by chance");
    assert_eq!((some.taken, some.of), (9, 12));
    near_of(some.ratio, 0.804, 0.001);
    let all = Taken {
        taken: 12,
        of: 12,
        ratio: None,
    };
    assert_eq!(taken(&record((2, 36), 0)), Some(all));
    assert_eq!(taken(&record((2, 37), 12)), None);
    assert_eq!(taken(&record((2, 38), 3)), None);
}
