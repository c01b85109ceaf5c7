//! Two programs under two policies.

use expect_test::expect_file;
use hugewise_model::run::compare::{self, Gain, Options};
use hugewise_model::run::plan::Program;
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::record::Record;
use hugewise_model::run::report::Report;
use serde_json::Value;

use super::checked::{check, golden, markdown};
use crate::sample::{self, Figures, huge_pages, small_pages, thp, with};

/// `old` gains 19.7 % from huge pages; `new` is 4 % faster without them and gains `gain` of it.
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

#[test]
fn the_first_screen_has_both_programs_and_what_they_gain() {
    let record = programs(0.83, 12);
    let table = table(&record);
    assert_eq!(table.interactions[0].gain, Gain::Less);
    let text = check("programs", &record, table);
    for part in [
        "new takes 3.9 % less wall time than old with as-is",
        "new gains less from huge pages: −3",
        "Best policy: thp=always for old, thp=always for new.",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let details = text.contains("All metrics");
    assert!(!details, "{text}");
}

#[test]
fn programs_are_named_in_every_format() {
    let record = programs(0.83, 12);
    let report = Report::new(
        &record,
        table(&record),
        Vec::new(),
        Some("programs.jsonl".to_owned()),
    );
    expect_file![golden("programs.md")].assert_eq(&markdown(&report));
    let json: Value = serde_json::from_str(&report.json()).unwrap();
    let part = |key: &str| format!("{:#}\n", json[key]);
    expect_file![golden("programs-interactions.json")].assert_eq(&part("interactions"));
    let programs = json["programs"].as_array().unwrap();
    let answers: Vec<&Value> = programs.iter().map(|it| &it["answers"][0]).collect();
    assert!(
        answers[0]
            .as_str()
            .unwrap()
            .starts_with("Huge pages help ./old")
    );
    assert_eq!(programs[1]["command"][0], "./new");
    assert_eq!(programs[1]["verdict"]["policies"]["thp=always"], "better");
    let trials = json["trials"].as_array().unwrap();
    let of_new = trials.iter().filter(|it| it["program"] == "new");
    assert_eq!(
        of_new.count(),
        36,
        "two policies and the control in 12 rounds"
    );
    let csv = report.csv();
    let mut lines = csv.lines();
    assert!(lines.next().unwrap().ends_with(",missing,program"));
    assert!(lines.all(|line| line.ends_with(",old") || line.ends_with(",new")));
}

#[test]
fn where_no_interaction_was_shown_its_interval_is() {
    let record = programs(0.803, 8);
    let report = Report::new(&record, table(&record), Vec::new(), None);
    let answers = report.answers();
    let said = &answers[1];
    assert!(
        said.starts_with("new and thp=always: no interaction was shown, ")
            || said.starts_with("new gains from thp=always what old does"),
        "{said}"
    );
    let record = programs(0.803, 3);
    let report = Report::new(&record, table(&record), Vec::new(), None);
    assert!(
        report.answers()[1].contains("too few rounds for an interval"),
        "{:?}",
        report.answers()
    );
}
