//! Policies that are put in force by tracing the program, or by a library that it preloads.

use expect_test::expect;
use hugewise_model::run::findings::Outcome;
use hugewise_model::run::policy::realise::Tracer;
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::record::Record;
use hugewise_model::run::trial::Tracing;

use super::judged::{judge, of, says};
use crate::sample::{self, huge_pages, small_pages, thp, with};

/// `thp=always`, and a policy that has its means without advice, under which a run takes `slower`
/// times as long.
fn with_idle(idle: &str, slower: f64) -> Record {
    let policy = Policy {
        name: idle.to_owned(),
        settings: idle.parse().expect("a good policy"),
    };
    let slow = with(&small_pages(), &[("wall_seconds", 4.21 * slower)]);
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
        (policy, slow),
    ];
    sample::record(&arms, 12)
}

/// `thp=always` by tracing, and the idle tracer, which makes a run `slower` times as long.
fn record(slower: f64, beyond: &[&str]) -> Record {
    let mut record = with_idle("tracer=idle", slower);
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
                sites: Vec::new(),
                ranges: 6,
                bytes: 1 << 28,
                stops: 52,
                refused: 0,
                collapsing: None,
                text: None,
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
            thp=always: reached by a tracer that stopped the program 52 times a run. The change includes what tracing costs: +0.5 % (95 %: −0.1 to +1.0 %)
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
            thp=always: tracing alone costs +5.3 % (95 %: +4.7 to +5.9 %), which the change includes. Reached by a tracer that stopped the program 52 times a run. Not reached: /bin/x runs 32-bit code, which is not traced
        "#]],
    );
}

/// `thp=always` by a library that all trials or none had mapped, and the idle one, which makes a run
/// `slower` times as long.
fn preloaded(slower: f64, is_mapped: bool) -> Record {
    let mut record = with_idle("preload=idle", slower);
    for policy in ["thp=always", "preload=idle"] {
        let realisation = record.header.realisations.get_mut(policy);
        realisation.expect("a policy").library = Some("/tmp/libhugewise.so".to_owned());
    }
    let mut trials = record.trials.iter_mut();
    let always = trials.find(|trial| trial.policy == "thp=always");
    always.expect("a trial").read_back.library = Some(is_mapped);
    record
}

#[test]
fn what_preloading_costs_is_said() {
    says(
        &judge(&preloaded(1.002, true)),
        "reached-by-preloading",
        Outcome::Shown,
        &expect![[r#"
            thp=always: reached by a preloaded library, which has the program advise its own memory. The change includes what preloading costs: +0.5 % (95 %: −0.1 to +1.0 %)
        "#]],
    );
    says(
        &judge(&preloaded(1.05, true)),
        "reached-by-preloading",
        Outcome::Shown,
        &expect![[r#"
            thp=always: preloading alone costs +5.3 % (95 %: +4.7 to +5.9 %), which the change includes. Reached by a preloaded library, which has the program advise its own memory
        "#]],
    );
    let findings = judge(&preloaded(1.002, false));
    assert!(of(&findings, "reached-by-preloading").is_none());
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
