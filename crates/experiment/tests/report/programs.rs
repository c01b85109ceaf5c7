//! Two programs under two policies.

use hugewise_experiment::run::answer::{Against, Answer, Call, Claim, Effect, SubjectKind, Word};
use hugewise_experiment::run::compare::{self, Options};
use hugewise_experiment::run::plan::Program;
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::Record;
use serde_json::Value;

use super::checked::{change, check, chosen, headline, judged, report};
use crate::sample::{self, Figures, huge_pages, small_pages, thp, with};

/// Returns a record in which `old` gains 19.7 % from huge pages; `new` is 4 % faster without them and gets `gain` of
/// that gain.
fn programs(gain: f64, rounds: u32) -> Record {
    let program = |name: &str| Program {
        name: name.to_owned(),
        command: vec![format!("./{name}"), "--size".to_owned(), "3".to_owned()],
    };
    let programs = vec![program("old"), program("new")];
    let wall = |figures: &Figures, seconds: f64| with(figures, &[("wall_seconds", seconds)]);
    let figures = [
        small_pages(),
        huge_pages(),
        wall(&small_pages(), 4.04),
        wall(&huge_pages(), 4.04 * gain),
    ];
    let policies = [Policy::as_is(), thp("thp=always", Thp::Always)];
    let arms = programs.iter().flat_map(|program| {
        policies.iter().map(|policy| Policy {
            name: program.under(&policy.name),
            ..policy.clone()
        })
    });
    let arms: Vec<(Policy, Figures)> = arms.zip(figures).collect();
    let mut plan = sample::plan(arms.iter().map(|(arm, _)| arm.clone()).collect());
    plan.command = programs[0].command.clone();
    plan.programs = programs;
    sample::record_of(plan, &arms, rounds)
}

fn table(record: &Record) -> compare::Table {
    compare::table(record, &Options::default()).unwrap()
}

/// Returns the gain of the second program minus that of the first.
fn gain(answer: &Answer) -> &Claim {
    let is_gain = |claim: &Claim| matches!(claim.contrast.against, Against::GainOfProgram(_));
    answer.claim(answer.find(is_gain).expect("two programs"))
}

#[test]
fn both_programs_and_the_difference_of_their_gains_are_claims() {
    let record = programs(0.83, 12);
    let answer = check("programs", &record, table(&record));
    assert_eq!(
        (answer.word, answer.subject.kind),
        (Word::Compared, SubjectKind::Programs)
    );
    let of = |against: &Against| {
        let mut claims = headline(&answer).into_iter();
        claims
            .find(|claim| claim.contrast.against == *against)
            .unwrap()
    };
    let by_itself = of(&Against::Program("old: as-is".to_owned()));
    assert_eq!(
        (by_itself.contrast.arm.as_str(), change(by_itself)),
        ("new: as-is", -3.8)
    );
    let gain = of(&Against::GainOfProgram("old".to_owned()));
    assert_eq!(gain.call, Call::Worse);
    let Some(Effect::Points(points)) = gain.effect else {
        panic!("{gain:?}");
    };
    assert_eq!((points * 10.0).round(), -30.0);
    assert_eq!(answer.programs.len(), 2);
    for (program, expected) in answer.programs.iter().zip([-19.6, -17.3]) {
        assert_eq!(
            (program.word, chosen(program)),
            (Word::Help, Some("thp=always"))
        );
        assert_eq!(change(judged(program, "thp=always")), expected);
    }
}

#[test]
fn programs_are_named_in_json_and_csv() {
    let record = programs(0.83, 12);
    let report = report(&record);
    let json: Value = serde_json::from_str(&report.json()).unwrap();
    let programs = &json["answer"]["programs"];
    let named = [0, 1].map(|at| programs[at]["subject"]["name"].as_str().unwrap());
    assert_eq!(named, ["old", "new"]);
    let trials = json["trials"].as_array().unwrap().iter();
    let of_new = trials.filter(|it| it["program"] == "new").count();
    assert_eq!(of_new, 36, "two policies and the control in 12 rounds");
    let csv = report.csv();
    let mut lines = csv.lines();
    assert!(lines.next().unwrap().ends_with(",missing,program"));
    assert!(lines.all(|line| line.ends_with(",old") || line.ends_with(",new")));
}

#[test]
fn a_gain_that_was_not_shown_to_differ_is_the_same_or_open() {
    let record = programs(0.803, 8);
    let report_of_eight = report(&record);
    let alike = gain(report_of_eight.answer());
    assert!(alike.interval.is_some());
    assert!(
        matches!(alike.call, Call::Same | Call::Open(_)),
        "{alike:?}"
    );
    let record = programs(0.803, 3);
    let report_of_three = report(&record);
    let few = gain(report_of_three.answer());
    assert!(few.interval.is_none() && few.call.is_open(), "{few:?}");
}
