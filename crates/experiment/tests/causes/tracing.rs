//! Policies applied by a tracer or a preloaded library.

use hugewise_experiment::run::cause::facts::{MechanismCost, MechanismFacts, mechanism};
use hugewise_experiment::run::policy::realise::TreeTracer;
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::trial::Tracing;

use super::judged::{always, near};
use crate::sample::{self, huge_pages, small_pages, table, thp, with};

/// `thp=always`, and a policy with its mechanism but without advice, under which a run takes `slower` times as long.
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
fn traced(slower: f64, beyond: &[&str]) -> Record {
    let mut record = with_idle("tracer=idle", slower);
    for (policy, tracer) in [
        ("thp=always", TreeTracer::Huge),
        ("tracer=idle", TreeTracer::Idle),
    ] {
        let realisation = record.header.realisations.get_mut(policy);
        realisation.expect("a policy").tracer = tracer;
        for trial in record
            .trials
            .iter_mut()
            .filter(|trial| trial.policy == policy)
        {
            trial.read_back.tracing = Some(Tracing {
                ranges: 6,
                bytes: 1 << 28,
                stops: 52,
                beyond: beyond.iter().map(|&sentence| sentence.to_owned()).collect(),
                ..Tracing::default()
            });
        }
    }
    record
}

fn reached(record: &Record) -> Option<MechanismFacts> {
    mechanism(record, &table(record, 0.005), "thp=always")
}

/// Checks a cost of a hundredth or so.
fn cost(cost: Option<MechanismCost>, control: &str, percent: [f64; 3]) {
    let cost = cost.expect("a control");
    assert_eq!(cost.control, control);
    let [low, high] = cost.interval.expect("twelve rounds");
    for (ratio, percent) in [cost.ratio, low, high].into_iter().zip(percent) {
        near(100.0 * (ratio - 1.0), percent, 0.06);
    }
}

const SMALL: [f64; 3] = [0.46, -0.04, 0.96];
const LARGE: [f64; 3] = [5.27, 4.74, 5.80];

#[test]
fn a_tracer_has_its_stops_and_its_cost() {
    let Some(MechanismFacts::Tracing {
        stops,
        ranges,
        beyond,
        cost: small,
    }) = reached(&traced(1.002, &[]))
    else {
        panic!("traced");
    };
    assert_eq!((stops, ranges, beyond), (52.0, 6.0, Vec::new()));
    cost(small, "tracer=idle", SMALL);
    let unreached = "/bin/x runs 32-bit code, which is not traced";
    let Some(MechanismFacts::Tracing {
        beyond,
        cost: large,
        ..
    }) = reached(&traced(1.05, &[unreached]))
    else {
        panic!("traced");
    };
    assert_eq!(beyond, [unreached], "once");
    cost(large, "tracer=idle", LARGE);
}

/// `thp=always` by a library that all trials or none had mapped, and the idle one, which makes a run `slower` times as
/// long.
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
fn a_preloaded_library_has_its_cost() {
    for (slower, percent) in [(1.002, SMALL), (1.05, LARGE)] {
        let Some(MechanismFacts::Preloading {
            trials: 1,
            instead_of_tracer: None,
            cost: found,
        }) = reached(&preloaded(slower, true))
        else {
            panic!("preloaded");
        };
        cost(found, "preload=idle", percent);
    }
    assert_eq!(reached(&preloaded(1.002, false)), None);
}

#[test]
fn a_policy_without_a_mechanism_has_no_such_facts() {
    assert_eq!(reached(&always(huge_pages())), None);
}
