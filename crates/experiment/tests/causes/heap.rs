//! A heap that grows in steps too small for huge pages.

use hugewise_experiment::run::cause::CauseId;
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::Record;

use super::judged::{figures, is_silent, judge, near, of};
use crate::sample::{self, huge_pages, small_pages, thp, with};

const MIB: f64 = 1_048_576.0;

/// `thp=always` and `malloc=thp`, each with so much huge memory.
fn record(always: f64, malloc: f64) -> Record {
    let huge = |bytes| with(&huge_pages(), &[("huge_anon_peak_bytes", bytes)]);
    let of_malloc = Policy {
        name: "malloc=thp".to_owned(),
        settings: "malloc=thp".parse().expect("a good policy"),
    };
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge(always)),
        (of_malloc, huge(malloc)),
    ];
    sample::record(&arms, 12)
}

#[test]
fn malloc_that_reaches_far_more_than_thp_always_names_the_steps_of_the_heap() {
    let causes = judge(&record(14.0 * MIB, 103.0 * MIB));
    let found = figures!(&causes, HeapGrewInSteps, Shown);
    near(found.huge_bytes, 103.0 * MIB, 1.0);
    near(found.always_huge_bytes, 14.0 * MIB, 1.0);
    assert_eq!(found.always, "thp=always");
    let cause = of(&causes, CauseId::HeapGrewInSteps).unwrap();
    assert_eq!(cause.arm.as_deref(), Some("malloc=thp"));
}

#[test]
fn alike_amounts_and_few_pages_say_nothing_of_the_heap() {
    for [always, malloc] in [[80e6, 103e6], [2e6, 14e6]] {
        assert!(is_silent(&record(always, malloc), CauseId::HeapGrewInSteps));
    }
}
