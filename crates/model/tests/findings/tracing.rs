//! Policies that are put in force by tracing the program.

use expect_test::expect;
use hugewise_model::run::findings::Outcome;
use hugewise_model::run::policy::realise::Tracer;
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::record::Record;
use hugewise_model::run::trial::Tracing;

use super::judged::{judge, of, says};
use crate::sample::{self, huge_pages, small_pages, thp, with};

/// `thp=always` by tracing, and the idle tracer, which makes a run `slower` times as long.
fn record(slower: f64, beyond: &[&str]) -> Record {
    let idle = Policy {
        name: "tracer=idle".to_owned(),
        settings: "tracer=idle".parse().expect("a good policy"),
    };
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
        (
            idle,
            with(&small_pages(), &[("wall_seconds", 4.21 * slower)]),
        ),
    ];
    let mut record = sample::record(&arms, 12);
    for (policy, tracer) in [("thp=always", Tracer::Huge), ("tracer=idle", Tracer::Idle)] {
        let realisation = record
            .header
            .realisations
            .get_mut(policy)
            .expect("a policy");
        realisation.tracer = tracer;
        for trial in record
            .trials
            .iter_mut()
            .filter(|trial| trial.policy == policy)
        {
            trial.read_back.tracing = Some(Tracing {
                ranges: 6,
                bytes: 1 << 28,
                stops: 52,
                refused: 0,
                collapsing: None,
                beyond: beyond.iter().map(|&sentence| sentence.to_owned()).collect(),
            });
        }
    }
    record
}

#[test]
fn what_tracing_costs_is_said() {
    says(
        &judge(&record(1.002, &[])),
        "reached-by-tracing",
        Outcome::Shown,
        &expect![[r#"
            thp=always: reached by tracing the program, which was stopped 52 times a run to advise 6 ranges of its memory. That costs +0.5 % (95 %: −0.02 to +1.0 %)
        "#]],
    );
}

#[test]
fn a_large_cost_and_what_was_not_reached_are_said() {
    says(
        &judge(&record(
            1.05,
            &["/bin/x runs 32-bit code, which is not traced"],
        )),
        "reached-by-tracing",
        Outcome::Shown,
        &expect![[r#"
            thp=always: reached by tracing the program, which was stopped 52 times a run to advise 6 ranges of its memory. That costs +5.3 % (95 %: +4.8 to +5.8 %), which the change includes. Not reached: /bin/x runs 32-bit code, which is not traced
        "#]],
    );
}

#[test]
fn a_policy_by_other_means_needs_no_such_words() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let findings = judge(&sample::record(&arms, 12));
    assert!(of(&findings, "reached-by-tracing").is_none());
}
