//! Policies that make memory huge while the program has it in use.

use expect_test::expect;
use hugewise_model::run::compare::Answer;
use hugewise_model::run::findings::{self, Finding, Outcome};
use hugewise_model::run::policy::Policy;
use hugewise_model::run::record::Record;
use hugewise_model::run::trial::{Collapsing, Tracing};

use super::judged::{judge, of, says};
use crate::sample::{self, small_pages};

fn record(figures: &[(&'static str, f64)], did: &Collapsing, beyond: &[&str]) -> Record {
    let later = Policy {
        name: "collapse=after:2s".to_owned(),
        settings: "collapse=after:2s".parse().expect("a good policy"),
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
fn what_became_huge_is_said_with_its_stops() {
    let did = Collapsing {
        passes: 1,
        calls: 7,
        bytes: 412 << 20,
        refused: [("EINVAL".to_owned(), 4 << 20)].into(),
        held_ns: 96_000_000,
        longest_ns: 21_000_000,
    };
    says(
        &judge(&record(
            &[("wall_seconds", 3.0)],
            &did,
            &["/bin/x runs 32-bit code, which is not traced"],
        )),
        "collapsed-later",
        Outcome::Shown,
        &expect![[r#"
            collapse=after:2s: made 412 MiB huge that the program had in use. 7 calls a run, for which one thread at a time stood 96.0 ms in all, 21.0 ms at the longest. Refused: EINVAL for 4 MiB. Not reached: /bin/x runs 32-bit code, which is not traced
        "#]],
    );
    assert!(of(&judge(&record(&[], &did, &[])), "policy-had-no-effect").is_none());
}

fn without_effect(did: &Collapsing) -> Vec<Finding> {
    let record = record(&[], did, &[]);
    let mut table = sample::table(&record, 0.005);
    let policy = "collapse=after:2s".to_owned();
    table.verdict.policies.insert(policy, Answer::NoEffect);
    findings::judge(&record, &table)
}

#[test]
fn that_nothing_became_huge_is_said_with_the_reason() {
    let refused = Collapsing {
        passes: 3,
        calls: 3,
        refused: [("ENOMEM".to_owned(), 4 << 20)].into(),
        ..Collapsing::default()
    };
    let none = Collapsing {
        passes: 3,
        ..Collapsing::default()
    };
    let early = Collapsing::default();
    says(
        &judge(&record(&[], &refused, &[])),
        "collapsed-later",
        Outcome::NotShown,
        &expect![[r#"
            collapse=after:2s: made nothing huge, because the kernel refused it (ENOMEM)
        "#]],
    );
    says(
        &without_effect(&none),
        "policy-had-no-effect",
        Outcome::Shown,
        &expect![[r#"
            collapse=after:2s: no page was huge, because no small page was in use in a private anonymous range of at least one huge page. 51,200 and 51,200 minor faults
        "#]],
    );
    says(
        &without_effect(&early),
        "policy-had-no-effect",
        Outcome::Shown,
        &expect![[r#"
            collapse=after:2s: no page was huge, because the program ended before that time. 51,200 and 51,200 minor faults
        "#]],
    );
}

#[test]
fn code_in_huge_pages_is_said_with_its_stops() {
    let did = Collapsing {
        passes: 9,
        calls: 3,
        bytes: 6 << 20,
        refused: [("ENOMEM".to_owned(), 2 << 20)].into(),
        held_ns: 12_000_000,
        longest_ns: 5_000_000,
    };
    says(
        &judge(&with_code(&did)),
        "huge-code",
        Outcome::Shown,
        &expect![[r#"
            collapse=after:2s: copied 6 MiB of the program's code into huge pages. 3 stops a run, for which one thread at a time stood 12.0 ms in all, 5.00 ms at the longest. Refused: ENOMEM for 2 MiB
        "#]],
    );
    let none = Collapsing {
        passes: 9,
        ..Collapsing::default()
    };
    says(
        &judge(&with_code(&none)),
        "huge-code",
        Outcome::NotShown,
        &expect![[r#"
            collapse=after:2s: put no code into huge pages, because no huge page fits into the code in use, or it was huge already
        "#]],
    );
}

/// Twelve rounds of which the second policy put code into huge pages.
fn with_code(did: &Collapsing) -> Record {
    let mut record = record(&[("wall_seconds", 3.0)], did, &[]);
    for trial in &mut record.trials {
        if let Some(tracing) = &mut trial.read_back.tracing {
            tracing.text = tracing.collapsing.take();
        }
    }
    record
}
