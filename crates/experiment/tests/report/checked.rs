//! A report read through its file, the parts of its answer by their names, and the common checks of all reports.

use std::path::PathBuf;

use expect_test::expect_file;
use hugewise_experiment::run::answer::{
    Against, Answer, Claim, ClaimId, Doubt, Effect, NextStep, SubjectKind,
};
use hugewise_experiment::run::compare::{self, Comparison, Options, Table};
use hugewise_experiment::run::record::{self, Inside, Line, Record};
use hugewise_experiment::run::report::{FORMAT, Report};
use hugewise_text::{Style, to_text};
use serde_json::Value;

pub(super) fn golden(name: &str) -> PathBuf {
    fixture(&format!("golden/{name}"))
}

fn fixture(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures", name]
        .iter()
        .collect()
}

/// Writes the record to its file, which other tests also read.
fn by_file(name: &str, record: &Record) -> Record {
    let mut text = record::to_line(&Line::Header(record.header.clone()));
    for trial in &record.trials {
        text += &record::to_line(&Line::Trial(trial.clone()));
    }
    if let Some(inside) = &record.inside {
        let plan = inside.header.plan.clone();
        text += &record::to_line(&Line::Inside(Inside { plan }));
        for period in &inside.trials {
            text += &record::to_line(&Line::Period(period.clone()));
        }
    }
    if let Some(end) = &record.end {
        text += &record::to_line(&Line::End(end.clone()));
    }
    expect_file![fixture(&format!("runs/{name}.jsonl"))].assert_eq(&text);
    record::parse(text.as_bytes()).unwrap()
}

pub(super) fn draw(report: &Report<'_>, style: &Style) -> String {
    to_text(&report.document(style.width, style.verbose), style)
}

/// Returns the report of a record as planned.
pub(super) fn report(record: &Record) -> Report<'_> {
    let table = compare::table(record, &Options::default()).expect("a sound plan");
    Report::new(record, table, None)
}

/// Returns the answer of a record with a handmade table.
pub(super) fn answer_of(record: &Record, table: Table) -> Answer {
    Report::new(record, table, None).answer().clone()
}

/// Checks the first screen and the JSON of a scenario, and returns its answer.
pub(super) fn check(name: &str, record: &Record, table: Table) -> Answer {
    let record = by_file(name, record);
    let report = Report::new(&record, table, Some(format!("{name}.jsonl")));
    assert_eq!(too_wide(&report, &Style::default()), [""; 0], "{name}");
    check_json(&report);
    report.answer().clone()
}

/// Returns the lines that exceed the width, except for commands to copy.
pub(super) fn too_wide(report: &Report<'_>, style: &Style) -> Vec<String> {
    let commands = all_commands(report.answer());
    let text = draw(report, style);
    let lines = text.lines().filter(|line| {
        let is_command = commands.iter().any(|command| line.trim() == command);
        line.chars().count() > style.width && !is_command
    });
    lines.map(str::to_owned).collect()
}

/// Returns the command lines of an answer, including those of its programs.
fn all_commands(answer: &Answer) -> Vec<String> {
    let choice = answer.choice.iter();
    let chosen = choice.flat_map(|it| it.commands.iter().chain(&it.conditions));
    let next = answer.next.iter().filter_map(|next| next.command.as_ref());
    let own = chosen.chain(next).map(|command| command.line.clone());
    let inner = answer.programs.iter().flat_map(all_commands);
    own.chain(inner).collect()
}

/// Returns the claim that judged an arm.
pub(super) fn judged<'a>(answer: &'a Answer, arm: &str) -> &'a Claim {
    let found = answer.judged_claim(arm);
    found.unwrap_or_else(|| panic!("no claim about {arm}: {:#?}", answer.claims))
}

/// Returns the claims of the headline.
pub(super) fn headline(answer: &Answer) -> Vec<&Claim> {
    let claims = answer.headline.iter();
    claims.map(|id| answer.claim(*id)).collect()
}

/// Returns the arms of the headline, with the other sides of their comparisons.
pub(super) fn contrasts(answer: &Answer) -> Vec<(&str, &Against)> {
    let claims = headline(answer).into_iter();
    claims
        .map(|claim| (claim.contrast.arm.as_str(), &claim.contrast.against))
        .collect()
}

/// Returns a ratio as a change in percent, to one decimal.
pub(super) fn percent(ratio: f64) -> f64 {
    ((ratio - 1.0) * 1000.0).round() / 10.0
}

/// Returns the effect of a claim in percent, to one decimal.
pub(super) fn change(claim: &Claim) -> f64 {
    match claim.effect {
        Some(Effect::Ratio(ratio)) => percent(ratio),
        other => panic!("{other:?} is no ratio"),
    }
}

/// Returns the ends of a claim's interval in percent, to one decimal.
pub(super) fn ends(claim: &Claim) -> [f64; 2] {
    let interval = claim.interval.expect("an interval");
    [interval.low, interval.high].map(percent)
}

/// Returns the chosen policy, if there is one.
pub(super) fn chosen(answer: &Answer) -> Option<&str> {
    answer.choice.as_ref()?.arm.as_deref()
}

/// Returns the commands that set the choice.
pub(super) fn to_set(answer: &Answer) -> Vec<&str> {
    let commands = answer.choice.iter().flat_map(|it| &it.commands);
    commands.map(|command| command.line.as_str()).collect()
}

/// Returns the next steps except for the full report, each with its command.
pub(super) fn steps(answer: &Answer) -> Vec<(&NextStep, Option<&str>)> {
    let next = answer.next.iter().filter(|it| it.step != NextStep::Verbose);
    next.map(|it| (&it.step, it.command.as_ref().map(|it| it.line.as_str())))
        .collect()
}

/// Returns the names of the kinds of doubts, as in JSON.
pub(super) fn kinds(doubts: &[Doubt]) -> Vec<String> {
    let json = serde_json::to_value(doubts).unwrap();
    let kinds = json.as_array().unwrap().iter().map(|it| &it["doubt"]);
    kinds
        .map(|kind| kind.as_str().unwrap().to_owned())
        .collect()
}

/// Checks the parts that every JSON report must have.
pub(super) fn check_json(report: &Report<'_>) {
    let text = report.json();
    let json: Value = serde_json::from_str(&text).unwrap();
    let fields = |value: &Value, names: &[&str]| {
        for name in names {
            assert!(value.get(name).is_some(), "{name} in {value}");
        }
    };
    fields(
        &json,
        &["answer", "host", "policies", "trials", "plan", "end"],
    );
    assert_eq!(json["format"], FORMAT);
    for trial in json["trials"].as_array().unwrap() {
        fields(trial, &["round", "policy", "readings"]);
        for reading in trial["readings"].as_object().unwrap().values() {
            if let Some(missing) = reading.get("missing") {
                fields(missing, &["why", "text"]);
            }
        }
    }
    for row in json["summaries"].as_array().unwrap() {
        fields(row, &["metric", "policy", "median", "low", "high", "n"]);
    }
    check_answer(report.answer());
    let csv = report.csv();
    let readings = report.record.trials.iter().map(|it| it.readings.keys());
    let readings: usize = readings.map(Iterator::count).sum();
    assert!(csv.lines().count() > readings, "a row for each reading");
}

/// Checks that every name and position in an answer refers to something.
fn check_answer(answer: &Answer) {
    let choice = answer.choice.iter();
    let prices = choice.clone().flat_map(|it| &it.prices);
    let ties = choice.flat_map(|it| it.ties.iter().map(|tie| &tie.claim));
    for ClaimId(at) in answer.headline.iter().chain(prices).chain(ties) {
        assert!(*at < answer.claims.len(), "claim {at}");
    }
    let is_of_programs = answer.subject.kind == SubjectKind::Programs;
    for claim in &answer.claims {
        let arm = &claim.contrast.arm;
        assert!(is_of_programs || answer.arm(arm).is_some(), "{arm}");
        let metric = &claim.contrast.metric;
        assert!(answer.metrics.contains_key(metric), "{metric}");
    }
    if let Some(arm) = answer.choice.as_ref().and_then(|it| it.arm.as_ref()) {
        assert!(answer.arm(arm).is_some(), "{arm}");
    }
    answer.programs.iter().for_each(check_answer);
}

pub(super) fn comparison<'a>(
    table: &'a mut Table,
    metric: &str,
    policy: &str,
) -> &'a mut Comparison {
    table
        .comparisons
        .iter_mut()
        .find(|c| c.metric == metric && c.policy == policy)
        .unwrap()
}
