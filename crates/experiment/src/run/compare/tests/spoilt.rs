//! Trials that failed, did not finish, were marked, or did not apply the policy.

use super::experiment::{fast, plan, read, record_of, row, the_table, wobble};
use super::texts;
use crate::base::missing::Missing;
use crate::run::compare::*;
use crate::run::trial::{Mark, Outcome, Reading, Role, Trial};

#[test]
fn a_failed_trial_takes_its_pair_out() {
    let record = record_of(plan(), 12, |trial, slot| {
        fast(trial, slot);
        if slot.policy == 1 && trial.round == 4 {
            trial.outcome = Outcome::Signalled { signal: 11 };
            read(trial, "wall_seconds", 1e-9);
        }
    });
    let table = the_table(&record);
    let wall = row(&table, "wall_seconds", "always");
    assert_eq!(wall.n, 11);
    assert_eq!(
        texts(&wall.warnings),
        ["1 round is left out: a trial failed (killed by signal 11)"]
    );
    assert_eq!(row(&table, "wall_seconds", "again").n, 12);
}

#[test]
fn a_policy_that_always_fails_is_not_judged() {
    let record = record_of(plan(), 12, |trial, slot| {
        fast(trial, slot);
        if slot.policy == 1 {
            trial.outcome = Outcome::Exited { code: 127 };
        }
    });
    let verdict = the_table(&record).verdict;
    assert_eq!(verdict.policies["always"], PolicyAnswer::NotDecided);
    assert_eq!(
        verdict.reasons["always"],
        Why::EveryTrialFailed {
            first: "exit status 127".to_owned()
        }
    );
    assert_eq!(verdict.best, None, "it might have been the best");
}

#[test]
fn what_was_not_read_is_a_row_with_its_reason() {
    let record = record_of(plan(), 12, |trial, slot| {
        fast(trial, slot);
        let reading = Reading::missing(Missing::NoHardware);
        trial
            .readings
            .insert("cgroup_peak_bytes".to_owned(), reading);
    });
    let table = the_table(&record);
    let row = row(&table, "cgroup_peak_bytes", "always");
    assert_eq!((row.n, row.ratio, row.low, row.p), (0, None, None, None));
    assert_eq!(row.change, Change::CannotTell);
    assert_eq!(
        texts(&row.warnings),
        ["this machine has no hardware counters"]
    );
}

#[test]
fn a_round_that_was_cut_off_is_left_out() {
    let mut record = record_of(plan(), 11, fast);
    // Only the control is missing: every pair of the round is present, but none counts.
    let is_cut = |trial: &Trial| trial.round == 10 && trial.role == Role::Control;
    record.trials.retain(|trial| !is_cut(trial));
    assert_eq!(progress(&record, 9).expect("sound").rounds, 10);
    let table = the_table(&record);
    let wall = row(&table, "wall_seconds", "always");
    assert_eq!((wall.n, row(&table, "wall_seconds", "again").n), (10, 10));
    assert_eq!(
        texts(&wall.warnings),
        ["1 round is left out: cut off before its last trial"]
    );
}

#[test]
fn marks_travel_with_the_number() {
    let record = record_of(plan(), 10, |trial, slot| {
        fast(trial, slot);
        if trial.round < 2 {
            trial.marks.push(Mark::Steal { permille: 25 });
        }
    });
    let table = the_table(&record);
    let wall = row(&table, "wall_seconds", "always");
    let want = "4 of 20 trials are marked, the first: the hypervisor took 2.5 % of the time";
    assert_eq!((wall.n, texts(&wall.warnings)), (10, vec![want.to_owned()]));
}

#[test]
fn a_baseline_that_varies_is_noise_and_no_verdict() {
    let record = record_of(plan(), 25, |trial, slot| {
        fast(trial, slot);
        if slot.role == Role::Control {
            read(trial, "wall_seconds", 1.5 * wobble(trial));
        }
    });
    let table = the_table(&record);
    let control = table.control.expect("several policies");
    assert_eq!(control.comparison.change, Change::Higher);
    // It is still faster than both of its runs.
    assert_eq!(table.verdict.policies["always"], PolicyAnswer::Better);
}

#[test]
fn a_policy_that_was_not_in_force_is_not_judged() {
    let record = record_of(plan(), 12, |trial, slot| {
        fast(trial, slot);
        if slot.policy == 1 && trial.round == 3 {
            trial.marks.push(Mark::NotApplied {
                detail: "enabled is never".to_owned(),
            });
        }
    });
    let verdict = the_table(&record).verdict;
    assert_eq!(verdict.policies["always"], PolicyAnswer::NotDecided);
    assert_eq!(
        verdict.reasons["always"],
        Why::ReadBackDiffers {
            detail: "enabled is never".to_owned()
        }
    );
}
