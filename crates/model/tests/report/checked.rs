//! A report by way of its file, and what every report must have.

use expect_test::expect_file;
use hugewise_model::run::compare::{Comparison, Table};
use hugewise_model::run::record::{Line, Record};
use hugewise_model::run::report::Report;
use hugewise_model::run::{findings, record};
use hugewise_model::text::{Style, Verbosity, to_markdown, to_text};
use serde_json::Value;

pub(super) fn golden(name: &str) -> std::path::PathBuf {
    fixture(&format!("golden/{name}"))
}

fn fixture(name: &str) -> std::path::PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures", name]
        .iter()
        .collect()
}

/// The record by way of its file, so that every golden report is one of a file.
fn by_file(name: &str, record: &Record) -> Record {
    let mut text = record::to_line(&Line::Header(record.header.clone()));
    for trial in &record.trials {
        text += &record::to_line(&Line::Trial(trial.clone()));
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

pub(super) fn markdown(report: &Report<'_>) -> String {
    to_markdown(
        &report.document(usize::MAX, Verbosity::Normal),
        Verbosity::Normal,
    )
}

pub(super) fn widest(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}

/// Scenarios that are not usual: many policies with long names, two records.
const TALL: [&str; 4] = ["five-policies", "long-names", "two-kernels", "two-records"];

/// Checks the text of a scenario, at 80 columns and when much is asked for, and returns it.
pub(super) fn check(name: &str, record: &Record, table: Table) -> String {
    let record = by_file(name, record);
    let findings = findings::judge(&record, &table);
    let report = Report::new(&record, table, findings, Some(format!("{name}.jsonl")));
    let text = draw(&report, &Style::default());
    expect_file![golden(&format!("{name}.txt"))].assert_eq(&text);
    assert!(
        widest(&text) <= 80,
        "{name} is wider than 80 columns:\n{text}"
    );
    assert!(
        text.lines().count() <= 24 || TALL.contains(&name),
        "{name} is taller than 24 lines:\n{text}"
    );
    let style = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    let verbose = draw(&report, &style);
    assert!(
        widest(&verbose) <= 80,
        "{name}, verbose, is wider than 80 columns:\n{verbose}"
    );
    check_json(&report);
    text
}

/// What every JSON report must have, whatever happened.
pub(super) fn check_json(report: &Report<'_>) {
    let text = report.json();
    let json: Value = serde_json::from_str(&text).unwrap();
    for field in [
        "format",
        "host",
        "policies",
        "baseline",
        "trials",
        "comparisons",
        "control",
        "verdict",
        "findings",
    ] {
        assert!(json.get(field).is_some(), "{field}");
    }
    assert_eq!(json["format"], "hugewise-report 1");
    let fields = |value: &Value, names: &[&str]| {
        for name in names {
            assert!(value.get(name).is_some(), "{name} in {value}");
        }
    };
    for trial in json["trials"].as_array().unwrap() {
        fields(trial, &["round", "policy", "readings"]);
        for reading in trial["readings"].as_object().unwrap().values() {
            if let Some(missing) = reading.get("missing") {
                fields(missing, &["why", "text"]);
            }
        }
    }
    let comparison = [
        "metric", "policy", "baseline", "ratio", "low", "high", "p", "n", "change",
    ];
    for row in json["comparisons"].as_array().unwrap() {
        fields(row, &comparison);
    }
    for row in json["summaries"].as_array().unwrap() {
        fields(row, &["metric", "policy", "median", "low", "high", "n"]);
    }
    fields(&json["verdict"], &["policies", "best"]);
    for finding in json["findings"].as_array().unwrap() {
        fields(finding, &["id", "outcome", "text", "evidence", "explain"]);
    }
    let csv = report.csv();
    let readings: usize = report
        .record
        .trials
        .iter()
        .map(|trial| trial.readings.keys().len())
        .sum();
    assert!(csv.lines().count() > readings, "a row for each reading");
    let markdown = markdown(report);
    assert!(
        markdown.contains(&report.answers()[0][..8]),
        "the answer comes first:\n{markdown}"
    );
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
