//! Policies applied by a tracer, whose overhead costs time.

use super::experiment::{fast, plan, policy, read, record_of, the_table, wobble};
use crate::run::compare::*;
use crate::run::plan::Plan;
use crate::run::policy::realise::{self, Realisation};
use crate::run::policy::{Settings, Thp, Tracer};
use crate::run::record::Record;

/// Twelve rounds of `never`, of `always` by a tracer, and of only its tracer, each so many times slower than the first.
fn traced(always: f64, idle: f64) -> Record {
    traced_in(12, always, idle)
}

fn traced_in(rounds: u32, always: f64, idle: f64) -> Record {
    let mut alone = policy("tracer=idle", None);
    alone.settings = Settings {
        tracer: Some(Tracer::Idle),
        ..Settings::default()
    };
    let plan = Plan {
        policies: vec![
            policy("never", Some(Thp::Never)),
            policy("always", Some(Thp::Always)),
            alone,
        ],
        ..plan()
    };
    let mut record = record_of(plan, rounds, |trial, slot| {
        fast(trial, slot);
        let slower = [1.0, always, idle][slot.policy];
        read(trial, "wall_seconds", wobble(trial) * slower);
    });
    for (name, tracer) in [
        ("always", realise::TreeTracer::Huge),
        ("tracer=idle", realise::TreeTracer::Idle),
    ] {
        let realisation = Realisation {
            tracer,
            ..Realisation::default()
        };
        let realisations = &mut record.header.realisations;
        realisations.insert(name.to_owned(), realisation);
    }
    record
}

fn always(record: &Record) -> (PolicyAnswer, Option<Why>) {
    let verdict = the_table(record).verdict;
    (
        verdict.policies["always"],
        verdict.reasons.get("always").cloned(),
    )
}

#[test]
fn what_the_tracer_costs_is_not_what_huge_pages_cost() {
    let (answer, reason) = always(&traced(1.3, 1.5));
    assert_eq!(answer, PolicyAnswer::NotDecided);
    assert!(
        matches!(reason, Some(Why::ByMechanism { .. })),
        "{reason:?}"
    );
    // As slow as its tracer.
    assert_eq!(always(&traced(1.3, 1.3)).0, PolicyAnswer::NotDecided);
}

/// A tracer that costs a third does not hide a thirtyfold loss, as soon as both are known.
#[test]
fn a_loss_far_beyond_that_of_its_tracer_is_of_huge_pages() {
    let decided =
        (1..=12).find(|&rounds| always(&traced_in(rounds, 30.0, 1.3)).0 == PolicyAnswer::Worse);
    let least =
        (1..=12).find(|&rounds| always(&traced_in(rounds, 30.0, 1.0)).0 == PolicyAnswer::Worse);
    assert_eq!(decided, least);
}

#[test]
fn huge_pages_that_cost_more_than_their_tracer_hurt() {
    assert_eq!(always(&traced(1.3, 1.1)), (PolicyAnswer::Worse, None));
    assert_eq!(always(&traced(1.3, 1.0)), (PolicyAnswer::Worse, None));
    assert_eq!(always(&traced(0.8, 1.1)).0, PolicyAnswer::Better);
}
