//! Policies that make memory huge while it is in use by the program.

use hugewise_experiment::run::cause::facts::{NothingMade, collapsed_later, huge_code};
use hugewise_experiment::run::cause::{CauseId, NothingHuge, causes};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::trial::{Collapsing, Tracing};

use super::judged::{figures, is_silent, near, no_effect};
use crate::sample::{self, small_pages};

const ARM: &str = "collapse=after:2s";
const UNREACHED: &str = "/bin/x runs 32-bit code, which is not traced";

fn record(figures: &[(&'static str, f64)], did: &Collapsing, beyond: &[&str]) -> Record {
    let later = Policy {
        name: ARM.to_owned(),
        settings: ARM.parse().expect("a good policy"),
    };
    let arms = [
        (Policy::as_is(), small_pages()),
        (later, sample::with(&small_pages(), figures)),
    ];
    let mut record = sample::record(&arms, 12);
    for trial in &mut record.trials {
        trial.read_back.tracing = (trial.policy != "as-is").then(|| Tracing {
            collapsing: Some(did.clone()),
            beyond: beyond.iter().map(|&sentence| sentence.to_owned()).collect(),
            ..Tracing::default()
        });
    }
    record
}

#[test]
fn what_became_huge_comes_with_its_stops() {
    let did = Collapsing {
        passes: 1,
        calls: 7,
        bytes: 412 << 20,
        refused: [("EINVAL".to_owned(), 4 << 20)].into(),
        held_ns: 96_000_000,
        longest_ns: 21_000_000,
    };
    let record = record(&[("wall_seconds", 3.0)], &did, &[UNREACHED]);
    let made = collapsed_later(&record, ARM).expect("memory");
    near(made.bytes, 412.0 * 1_048_576.0, 1.0);
    near(made.calls, 7.0, 0.0);
    near(made.held_seconds, 0.096, 1e-9);
    near(made.longest_seconds, 0.021, 1e-9);
    near(made.refused["EINVAL"], 4.0 * 1_048_576.0, 1.0);
    assert_eq!(
        (made.nothing, made.beyond),
        (None, vec![UNREACHED.to_owned()])
    );
    assert!(is_silent(&record, CauseId::SamePages));
    assert_eq!(collapsed_later(&record, "as-is"), None);
    assert_eq!(huge_code(&record, ARM), None);
}

#[test]
fn nothing_that_became_huge_has_a_reason() {
    let none = Collapsing {
        passes: 3,
        ..Collapsing::default()
    };
    let refused = Collapsing {
        calls: 3,
        refused: [("ENOMEM".to_owned(), 4 << 20)].into(),
        ..none
    };
    let errors = NothingMade::Refused(vec!["ENOMEM".to_owned()]);
    let cases = [
        (refused, errors),
        (none, NothingMade::NoSmallPages),
        (Collapsing::default(), NothingMade::EndedBefore),
    ];
    for (did, reason) in cases {
        let record = record(&[], &did, &[]);
        let made = collapsed_later(&record, ARM).expect("a policy that makes memory huge");
        assert_eq!(made.nothing.as_ref(), Some(&reason));
        let same = figures!(causes(&record, &no_effect(&record, ARM)), SamePages, Shown);
        assert_eq!(same.nothing_huge, Some(NothingHuge::NothingMade { reason }));
        near(same.faults.arm, 51_200.0, 0.0);
    }
}

#[test]
fn code_in_huge_pages_comes_with_its_stops() {
    let none = Collapsing {
        passes: 9,
        ..Collapsing::default()
    };
    let did = Collapsing {
        calls: 3,
        bytes: 6 << 20,
        ..none.clone()
    };
    let made = |did: &Collapsing| huge_code(&with_code(did), ARM).expect("code");
    let some = made(&did);
    assert_eq!((some.bytes, some.calls), (6.0 * 1_048_576.0, 3.0));
    assert_eq!(some.nothing, None);
    assert_eq!(made(&none).nothing, Some(NothingMade::NoCode));
}

/// Twelve rounds in which the second policy put code into huge pages.
fn with_code(did: &Collapsing) -> Record {
    let mut record = record(&[("wall_seconds", 3.0)], did, &[]);
    for trial in &mut record.trials {
        if let Some(tracing) = &mut trial.read_back.tracing {
            tracing.text = tracing.collapsing.take();
        }
    }
    record
}
