//! Policies that change only some runs, from a record of a real machine: a guest whose host takes free memory back. It
//! was recorded before trials were preceded by a touch of their memory.

use hugewise_experiment::run::answer::{Call, Doubt, Word};
use hugewise_experiment::run::compare::{self, Options, PolicyAnswer as Judgement};
use hugewise_experiment::run::plan::JudgeBy;
use hugewise_experiment::run::record::{self, Record};
use hugewise_experiment::run::report::Report;

use super::checked::{check_json, chosen, judged, report};

fn carry_over() -> Record {
    let bytes = include_bytes!("../../../../fixtures/runs/carry-over.jsonl");
    record::parse(bytes).expect("a record of the first format")
}

/// Half of the runs of a policy are much better and half much worse, depending on the preceding run: no direction is
/// shown.
#[test]
fn runs_that_depend_on_the_one_before_are_open() {
    let record = carry_over();
    let report = report(&record);
    let answer = report.answer();
    assert_eq!((answer.word, chosen(answer)), (Word::Open, None));
    for policy in ["thp=always", "malloc=thp"] {
        let call = &judged(answer, policy).call;
        assert!(matches!(call, Call::Open(_)), "{policy}: {call:?}");
    }
    let is_doubted =
        |doubt: &Doubt| matches!(doubt, Doubt::MayDependOnOrder { arm, .. } if arm == "thp=always");
    assert!(answer.doubts.iter().any(is_doubted), "{:?}", answer.doubts);
    let call = &judged(answer, "thp=never").call;
    assert!(matches!(call, Call::SamePages(_)), "{call:?}");
    let order = report.table.verdict.order.as_ref();
    let order = order.expect("huge and small pages");
    assert!(order.matters(), "{order:?}");
    let (first, last) = order.ends().expect("both kinds of trials");
    assert!(first < 0.8 && last > 1.1, "{order:?}");
    check_json(&report);
}

#[test]
fn another_question_is_known_to_be_one() {
    let record = carry_over();
    let options = Options {
        judge_by: Some(JudgeBy::Mean),
        ..Options::default()
    };
    let table = compare::table(&record, &options).expect("a property");
    // The trials later than a second after huge pages are on both sides of the baseline.
    assert_eq!(table.verdict.policies["thp=always"], Judgement::NotDecided);
    let report = Report::new(&record, table, None);
    let answer = report.answer();
    assert_eq!(answer.judged.property, JudgeBy::Mean);
    assert!(answer.doubts.contains(&Doubt::ChosenAfterwards));
    let found = answer.doubts.iter().find_map(|doubt| match doubt {
        Doubt::MayDependOnOrder { arm, p, .. } => Some((arm.as_str(), (p * 1000.0).round())),
        _ => None,
    });
    assert_eq!(found, Some(("thp=always", 18.0)));
}
