//! Programs that keep huge pages from their own memory.

use hugewise_experiment::run::cause::CauseId;
use hugewise_experiment::run::policy::realise::EnvChange;
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::trial::{Advice, Process, ProcessTree};

use super::judged::{always, figures, is_silent, judge, near_of, of};
use crate::sample::huge_pages;

/// The largest process of each trial under thp=always.
fn with_process(mut record: Record, process: &Process) -> Record {
    let trials = record.trials.iter_mut();
    for trial in trials.filter(|trial| trial.policy == "thp=always") {
        trial.read_back.tree = Some(ProcessTree {
            processes: 1,
            anon_bytes: process.anon_bytes,
            largest: process.clone(),
            ..ProcessTree::default()
        });
    }
    record
}

fn redis() -> Process {
    Process {
        name: "redis-server".to_owned(),
        program: "/usr/bin/redis-check-rdb".to_owned(),
        thp_enabled: Some(false),
        ..Process::default()
    }
}

#[test]
fn a_program_that_switched_huge_pages_off_is_named_first() {
    let causes = judge(&with_process(always(huge_pages()), &redis()));
    assert_eq!(causes[0].id, CauseId::ProgramDisablesThp);
    assert_eq!(causes[0].arm, None);
    let found = figures!(causes, ProgramDisablesThp, Shown);
    assert_eq!(found.process, "redis-server");
    assert_eq!(found.program, "/usr/bin/redis-check-rdb");
    assert_eq!(found.remedy.as_deref(), Some("--disable-thp no"));
    assert_eq!(found.trials["thp=always"], [12, 12]);
    assert_eq!(
        (found.in_vain, found.advised_against_share),
        (vec!["thp=always".to_owned()], None)
    );
    let earlier = found.earlier_huge_bytes.get("thp=always").copied();
    near_of(earlier, 806.0 * 1_048_576.0, 1.0);
}

#[test]
fn what_the_policy_asks_the_allocator_for_is_no_act_of_the_program() {
    let mut record = with_process(always(huge_pages()), &redis());
    let realisation = record.header.realisations.get_mut("thp=always");
    let variable = EnvChange::Set {
        name: "MIMALLOC_ALLOW_THP".to_owned(),
        value: "0".to_owned(),
    };
    realisation.expect("the policy").environment.push(variable);
    assert!(is_silent(&record, CauseId::ProgramDisablesThp));
}

#[test]
fn nothing_else_is_said_of_huge_pages_then() {
    let record = always(huge_pages());
    assert!(
        figures!(judge(&record), Breakdown, Shown)
            .fewer_faults
            .is_some()
    );
    let causes = judge(&with_process(record, &redis()));
    let parts = figures!(&causes, Breakdown, Shown);
    assert!(parts.fewer_faults.is_none() && parts.user_time.is_none() && parts.lasting.is_none());
    assert!(parts.seconds.is_some(), "its parts stay");
    assert!(of(&causes, CauseId::HugeAllocationFellBack).is_none());
}

#[test]
fn advice_against_huge_pages_is_an_act_as_well() {
    let process = Process {
        name: "x".to_owned(),
        thp_enabled: Some(true),
        advice: Some(Advice {
            anon_bytes: 100 << 20,
            huge_bytes: 0,
            no_huge_bytes: 93 << 20,
            ..Advice::default()
        }),
        ..Process::default()
    };
    let causes = judge(&with_process(always(huge_pages()), &process));
    let found = figures!(causes, ProgramDisablesThp, Shown);
    near_of(found.advised_against_share, 0.93, 1e-9);
    assert!(found.earlier_huge_bytes.is_empty() && found.remedy.is_none());
}

/// The kernel keeps them small: no setting of the program enables huge pages.
#[test]
fn thread_stacks_are_no_act_of_the_program() {
    let process = Process {
        name: "redis-server".to_owned(),
        thp_enabled: Some(true),
        advice: Some(Advice {
            anon_bytes: 100 << 20,
            stack_bytes: 93 << 20,
            ..Advice::default()
        }),
        ..Process::default()
    };
    let causes = judge(&with_process(always(huge_pages()), &process));
    let found = figures!(causes, ProgramDisablesThp, Shown);
    near_of(found.stacks_share, 0.93, 1e-9);
    assert_eq!((found.advised_against_share, found.remedy), (None, None));
}

#[test]
fn a_program_that_did_nothing_is_not_named() {
    let mut process = redis();
    process.thp_enabled = Some(true);
    let record = with_process(always(huge_pages()), &process);
    assert!(is_silent(&record, CauseId::ProgramDisablesThp));
}
