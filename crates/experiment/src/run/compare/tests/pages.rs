//! Policies with the same pages. Among equal ones, the one with the smallest scope is preferred.

use super::experiment::{MIB, fast, plan, read, record_of, the_table, wobble};
use crate::base::missing::Missing;
use crate::run::compare::*;
use crate::run::plan::Slot;
use crate::run::plan::service::Service;
use crate::run::policy::Malloc;
use crate::run::policy::realise::{FileWrite, Realisation};
use crate::run::record::Record;
use crate::run::trial::{Reading, Trial};

/// `always` gets the pages of the baseline; `change` may make an exception.
fn same_pages(change: impl Fn(&mut Trial, Slot)) -> Record {
    record_of(plan(), 12, |trial, slot| {
        fast(trial, slot);
        read(
            trial,
            "minor_faults_total",
            51_200.0 + f64::from(trial.index),
        );
        read(trial, "huge_anon_peak_bytes", 0.0);
        change(trial, slot);
    })
}

#[test]
fn equal_pages_are_no_effect() {
    let verdict = the_table(&same_pages(|_, _| ())).verdict;
    assert_eq!(
        verdict.policies["always"],
        PolicyAnswer::NoEffect,
        "although it seems a fifth faster"
    );
    let reason = &verdict.reasons["always"];
    assert!(
        matches!(reason, Why::NothingHuge { faults: [_, here] } if (51_200.0..51_300.0).contains(here)),
        "{reason:?}"
    );
    let nearly = same_pages(|trial, slot| {
        let more = f64::from(u8::from(slot.policy == 1)) * 4_096.0;
        read(trial, "huge_anon_peak_bytes", 8_388_608.0 + more);
    });
    let reason = &the_table(&nearly).verdict.reasons["always"];
    assert!(
        matches!(
            reason,
            Why::AsMuchHuge {
                bytes: [8_388_608.0, 8_392_704.0],
                ..
            }
        ),
        "{reason:?}"
    );
    let equal = same_pages(|trial, _| read(trial, "huge_anon_peak_bytes", 8_388_608.0));
    let reason = &the_table(&equal).verdict.reasons["always"];
    assert!(
        matches!(
            reason,
            Why::AsMuchHuge {
                bytes: [8_388_608.0, 8_388_608.0],
                ..
            }
        ),
        "{reason:?}"
    );
    assert_eq!(
        verdict.policies["again"],
        PolicyAnswer::NoDifference,
        "meant to be the same"
    );
    assert_eq!(verdict.best.as_deref(), Some("never"));
}

#[test]
fn no_effect_is_only_said_of_equal_pages() {
    let answer = |record: &Record| the_table(record).verdict.policies["always"];
    let only_always = |metric: &'static str, value: f64| {
        same_pages(move |trial, slot| {
            read(trial, metric, if slot.policy == 1 { value } else { 0.0 });
        })
    };
    for metric in [
        "huge_anon_mean_bytes",
        "hugetlb_peak_bytes",
        "mthp_64kib_exit_bytes",
    ] {
        assert_eq!(
            answer(&only_always(metric, 9.0 * MIB)),
            PolicyAnswer::Better,
            "{metric}"
        );
        assert_eq!(
            answer(&only_always(metric, 7.0 * MIB)),
            PolicyAnswer::NoEffect,
            "{metric}"
        );
    }
    let fewer_faults = same_pages(|trial, slot| {
        read(
            trial,
            "minor_faults_total",
            if slot.policy == 1 { 47_000.0 } else { 51_200.0 },
        );
    });
    assert_eq!(
        answer(&fewer_faults),
        PolicyAnswer::Better,
        "too short to be sampled"
    );
    let mut served = fewer_faults;
    served.header.plan.service = Some(Service::example());
    assert_eq!(
        answer(&served),
        PolicyAnswer::NoEffect,
        "a load that asks for less"
    );
    let unread = same_pages(|trial, _| {
        let reading = Reading::missing(Missing::TooShort);
        trial
            .readings
            .insert("huge_anon_peak_bytes".to_owned(), reading);
    });
    assert_eq!(
        answer(&unread),
        PolicyAnswer::Better,
        "nothing is known of the pages"
    );
    let mut allocator = same_pages(|_, _| ());
    allocator.header.plan.policies[1].settings.malloc = Some(Malloc::Jemalloc);
    assert_eq!(
        answer(&allocator),
        PolicyAnswer::Better,
        "an allocator acts otherwise too"
    );
}

/// Samples may miss huge pages that the machine-wide counter recorded.
#[test]
fn huge_faults_that_differ_are_an_effect() {
    let unseen = same_pages(|trial, slot| {
        let made = f64::from(u8::from(slot.policy == 1)) * 73.0;
        read(trial, "thp_fault_alloc_total", made);
    });
    assert_ne!(
        the_table(&unseen).verdict.policies["always"],
        PolicyAnswer::NoEffect
    );
}

/// `always` is slightly quicker than `again`, by less than the width of their intervals.
#[test]
fn of_equally_good_policies_the_one_that_leaves_the_machine_alone_is_best() {
    let both_fast = |gap: f64| {
        record_of(plan(), 25, move |trial, slot| {
            fast(trial, slot);
            let factor = [1.0, 0.8, 0.8 + gap][slot.policy];
            let seconds = wobble(trial) * factor;
            read(trial, "wall_seconds", seconds);
        })
    };
    let best = |mut record: Record| {
        let enabled = FileWrite {
            path: "sys/kernel/mm/transparent_hugepage/enabled".to_owned(),
            value: "always".to_owned(),
        };
        let realisation = Realisation {
            files: vec![enabled],
            ..Realisation::default()
        };
        let realisations = &mut record.header.realisations;
        realisations.insert("always".to_owned(), realisation);
        the_table(&record).verdict.best
    };
    assert_eq!(best(both_fast(0.0001)).as_deref(), Some("again"));
    assert_eq!(
        best(both_fast(0.1)).as_deref(),
        Some("always"),
        "clearly better"
    );
}
