//! Programs that keep huge pages from their own memory.

use expect_test::expect;
use hugewise_model::run::compare::{self, Options};
use hugewise_model::run::findings::{self, Outcome};
use hugewise_model::run::policy::Thp;
use hugewise_model::run::policy::realise::EnvChange;
use hugewise_model::run::record::Record;
use hugewise_model::run::report::Report;
use hugewise_model::run::trial::{Advice, Mark, Process, ProcessTree, Reading};
use hugewise_model::text::{Style, to_text};

use super::judged::{always, judge, of, says};
use crate::sample::{huge_pages, record, small_pages, thp};

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

/// thp=always was not in force in any trial.
fn mark_not_applied(record: &mut Record) {
    let trials = record.trials.iter_mut();
    for trial in trials.filter(|trial| trial.policy == "thp=always") {
        let detail = "redis-server switched huge pages off".to_owned();
        trial.marks.push(Mark::NotApplied { detail });
    }
}

/// The report as it is read.
fn reported(record: &Record) -> String {
    let table = compare::table(record, &Options::default()).expect("a sound plan");
    let findings = findings::judge(record, &table);
    let report = Report::new(record, table, findings, None);
    let style = Style::default();
    to_text(&report.document(style.width, style.verbose), &style)
}

#[test]
fn a_program_that_switched_huge_pages_off_is_named_first() {
    let findings = judge(&with_process(always(huge_pages()), &redis()));
    assert_eq!(findings[0].id, "program-disables-thp");
    says(
        &findings,
        "program-disables-thp",
        Outcome::Shown,
        &expect![[r#"
            redis-server switched huge pages off for itself by prctl(PR_SET_THP_DISABLE): thp=always did not reach it; --disable-thp no would leave them on. Seen in 12 of 12 trials under thp=always. The huge pages of redis-server are from before it switched them off: 806 MiB under thp=always
        "#]],
    );
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
    let findings = judge(&record);
    let named = findings.iter().any(|it| it.id == "program-disables-thp");
    assert!(!named, "{findings:?}");
}

/// The answer has the sentence already.
#[test]
fn what_the_answer_says_is_no_headline() {
    let mut record = with_process(always(huge_pages()), &redis());
    let untold = judge(&record);
    assert!(
        untold[0].text.starts_with("redis-server switched"),
        "{untold:?}"
    );
    mark_not_applied(&mut record);
    let text = reported(&record);
    assert_eq!(text.matches("switched huge pages off").count(), 1, "{text}");
    let earlier = "The huge pages of redis-server are from before it switched them off: 806 MiB";
    assert!(text.contains(earlier), "{text}");
    assert!(
        text.contains("Stay with as-is: no policy reaches memory"),
        "{text}"
    );
    assert!(!text.contains("More rounds"), "{text}");
}

/// Redis with its own jemalloc, which advises memory before Redis switches huge pages off for later faults.
#[test]
fn where_another_policy_reaches_memory_more_rounds_may_tell() {
    let arms = [
        (thp("as-is", Thp::Inherit), small_pages()),
        (thp("thp=always", Thp::Always), small_pages()),
        (thp("jemalloc", Thp::Always), huge_pages()),
    ];
    let mut record = with_process(record(&arms, 12), &redis());
    for trial in &mut record.trials {
        let wall = 1.0 + f64::from(trial.index * 7 % 11) / 10.0;
        let wall = Reading::of(wall);
        trial.readings.insert("wall_seconds".to_owned(), wall);
    }
    mark_not_applied(&mut record);
    let text = reported(&record);
    assert!(
        text.contains("Stay with as-is: no policy was shown"),
        "{text}"
    );
    let command = "hugewise run '--policy=thp=always,args=--disable-thp no' -- sort";
    assert!(text.contains(command), "{text}");
    for wrong in ["no policy reaches memory", "gained with thp=always"] {
        assert!(!text.contains(wrong), "{text}");
    }
}

#[test]
fn nothing_else_is_said_of_huge_pages_then() {
    let id = "fewer-faults-explain-gain";
    let record = always(huge_pages());
    assert!(of(&judge(&record), id).is_some());
    assert!(of(&judge(&with_process(record, &redis())), id).is_none());
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
        }),
        ..Process::default()
    };
    says(
        &judge(&with_process(always(huge_pages()), &process)),
        "program-disables-thp",
        Outcome::Shown,
        &expect![[r#"
            x advised MADV_NOHUGEPAGE on 93 % of its anonymous memory: thp=always did not reach it. Seen in 12 of 12 trials under thp=always
        "#]],
    );
}

#[test]
fn a_program_that_did_nothing_is_not_named() {
    let mut process = redis();
    process.thp_enabled = Some(true);
    let findings = judge(&with_process(always(huge_pages()), &process));
    assert!(of(&findings, "program-disables-thp").is_none());
}
