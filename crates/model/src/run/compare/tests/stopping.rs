//! How many rounds it takes, and when an experiment ends.

use super::experiment::{fast, plan, read, record_of, row, the_table, wobble};
use crate::run::compare::*;
use crate::run::plan::{Plan, Slot};
use crate::run::record::StopReason;
use crate::run::trial::Trial;

#[test]
fn a_first_table_of_one_policy_can_be_settled_at_the_first_look() {
    let mut small = plan();
    small.policies.truncate(2);
    let table = the_table(&record_of(small, 10, |trial, slot| {
        fast(trial, slot);
        for metric in ["user_seconds", "system_seconds", "voluntary_switches_total"] {
            read(trial, metric, wobble(trial));
        }
    }));
    // 2 / 2¹⁰, six times for the share, and at most four times for Holm.
    let faults = row(&table, "minor_faults_total", "always");
    assert_eq!(faults.change, Change::Lower);
    let p = faults.p.expect("tested");
    assert!(
        (p / (3.0 * 6.0 * 2.0 / 1024.0) - 1.0).abs() < 1e-9,
        "peak memory is constant: {p}"
    );
}

#[test]
fn few_rounds_say_how_many_are_needed() {
    let table = the_table(&record_of(plan(), 5, fast));
    assert_eq!(table.verdict.policies["always"], Answer::CannotTell);
    let reason = &table.verdict.reasons["always"];
    assert_eq!(reason, "only 5 complete rounds; an answer needs at least 8");
    assert_eq!(row(&table, "wall_seconds", "always").more_rounds, Some(3));
    assert_eq!(table.verdict.best, None);
}

#[test]
fn an_experiment_stops_at_a_look_and_not_between() {
    let mut small = plan();
    small.policies.truncate(2);
    let stop = |rounds| {
        progress(&record_of(small.clone(), rounds, fast))
            .expect("sound")
            .stop
    };
    assert_eq!(
        (stop(9), stop(10), stop(11)),
        (None, Some(StopReason::Decided), None)
    );
    let progress = progress(&record_of(small.clone(), 9, fast)).expect("sound");
    assert_eq!((progress.rounds, progress.next_look), (9, Some(10)));
    assert_eq!(progress.policies[0].answer, Answer::Better);
}

#[test]
fn an_experiment_ends_at_its_bounds() {
    let noisy = |trial: &mut Trial, _: Slot| {
        let value = (wobble(trial) - 1.0).sin() * 3.0 + 4.0 + f64::from(trial.index % 7);
        read(trial, "wall_seconds", value);
    };
    let stop = |plan: Plan, rounds| {
        progress(&record_of(plan, rounds, noisy))
            .expect("sound")
            .stop
    };
    assert_eq!(stop(plan(), 16), None);
    assert_eq!(stop(plan(), 40), Some(StopReason::MaxRounds));
    let mut precise = plan();
    precise.bounds.precision = Some(10.0);
    assert_eq!(stop(precise, 16), Some(StopReason::Precise));
    let mut single = plan();
    single.policies.truncate(1);
    assert_eq!(
        (stop(single.clone(), 9), stop(single, 10)),
        (None, Some(StopReason::Measured))
    );
}
