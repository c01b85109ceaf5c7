//! Policies that change some runs and not others, from a record of a real machine: a guest whose
//! host takes free memory back, measured before trials were preceded by a touch of their memory.

use expect_test::expect_file;
use hugewise_model::run::compare::{self, Answer, Options};
use hugewise_model::run::findings;
use hugewise_model::run::plan::JudgeBy;
use hugewise_model::run::record::{self, Record};
use hugewise_model::run::report::Report;
use hugewise_model::text::{Style, Verbosity};

use super::checked::{check_json, draw, golden};

fn carry_over() -> Record {
    let bytes = include_bytes!("../../../../fixtures/runs/carry-over.jsonl");
    record::parse(bytes).expect("a record of the first format")
}

#[test]
fn runs_that_depend_on_the_one_before_are_mixed() {
    let record = carry_over();
    let table = compare::table(&record, &Options::default()).expect("as planned");
    for policy in ["thp=always", "malloc=thp"] {
        assert_eq!(table.verdict.policies[policy], Answer::Mixed, "{policy}");
    }
    assert_eq!(table.verdict.policies["thp=never"], Answer::NoEffect);
    let order = table.verdict.order.as_ref().expect("huge and small pages");
    assert!(order.matters(), "{order:?}");
    let (first, last) = order.ends().expect("both kinds of trials");
    assert!(first < 0.8 && last > 1.1, "{order:?}");
    let found = findings::judge(&record, &table);
    let report = Report::new(&record, table, found, None);
    let text = draw(&report, &Style::default());
    expect_file![golden("carry-over.txt")].assert_eq(&text);
    check_json(&report);
}

#[test]
fn another_question_is_said_to_be_one() {
    let record = carry_over();
    let options = Options {
        judge_by: Some(JudgeBy::Mean),
        ..Options::default()
    };
    let table = compare::table(&record, &options).expect("a property");
    // The trials later than a second after huge pages lie on both sides of the baseline.
    assert_eq!(table.verdict.policies["thp=always"], Answer::NotDecided);
    let report = Report::new(&record, table, Vec::new(), None);
    let detail = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    let text = draw(&report, &detail);
    let hint = "thp=always may depend on what ran before (p = 0.018)";
    assert!(text.contains(hint), "{text}");
    assert!(text.contains("Chosen after the trials had run"), "{text}");
}
