//! Every number of a page occurs in the JSON report, rounded for display.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use hugewise_experiment::run::compare::{Options, table};
use hugewise_experiment::run::record::parse;
use hugewise_experiment::run::report::Report;
use hugewise_text::Verbosity;
use hugewise_text::document::Block;
use hugewise_text::grid::Grid;
use regex::Regex;
use serde_json::Value;

const RUNS: [&str; 6] = [
    "runs/clear-win",
    "runs/five-policies",
    "runs/long-names",
    "runs/no-effect",
    "runs/win-with-a-loss",
    "benches/latency",
];

/// Figures of differences computed only for them, without a counterpart in a JSON report.
const ALONE: [&str; 2] = ["causes", "shift"];

/// A displayed number: sign, digits and unit.
static SHOWN: LazyLock<Regex> = LazyLock::new(|| {
    let unit = "%|ns|µs|ms|s|B|KiB|MiB|GiB|k|M|G|B/s|kB/s|MB/s|GB/s";
    Regex::new(&format!(r"([−+±]?)(\d[\d,]*(?:\.\d+)?)(?: ({unit})\b)?")).unwrap()
});

/// The factors between a number of the JSON report and its display with a unit.
fn factors(unit: &str) -> Vec<f64> {
    match unit {
        "ns" => vec![1e9],
        "µs" => vec![1e6],
        // A user-defined metric may be in this unit.
        "ms" => vec![1e3, 1.0],
        "KiB" => vec![1.0 / 1024.0],
        "MiB" => vec![1.0 / 1_048_576.0],
        "GiB" => vec![1.0 / 1_073_741_824.0],
        "k" | "kB/s" => vec![1e-3],
        "M" | "MB/s" => vec![1e-6],
        "G" | "GB/s" => vec![1e-9],
        "s" | "B" | "B/s" => vec![1.0],
        "%" => vec![100.0],
        // The unit is at the end of the interval, or in another cell of the row.
        _ => vec![
            1.0,
            100.0,
            1e3,
            1e6,
            1e9,
            1.0 / 1024.0,
            1.0 / 1_048_576.0,
            1e-3,
            1e-6,
        ],
    }
}

/// The numbers in objects with this word among their texts or keys, without parts that belong to another policy.
fn numbers_with(value: &Value, word: &str, within: bool, found: &mut Vec<f64>) {
    let names = |value: &Value| value.as_str() == Some(word);
    match value {
        Value::Number(number) if within => found.extend(number.as_f64()),
        Value::Array(all) => {
            all.iter()
                .for_each(|one| numbers_with(one, word, within, found));
        }
        Value::Object(fields) => {
            // The arm of a claim is in its contrast.
            let contrast = fields.get("contrast").and_then(Value::as_object);
            let named = contrast.into_iter().chain([fields]);
            let within = within || named.flat_map(|it| it.values()).any(names);
            for (key, one) in fields {
                numbers_with(one, word, within || key == word, found);
            }
        }
        _ => {}
    }
}

/// The rounding of a displayed number, in units of its last digit: the ends of an interval are rounded outward.
fn last_digit(shown: &regex::Captures<'_>, cell: &str) -> f64 {
    let is_end = shown
        .get(0)
        .is_some_and(|it| cell[..it.start()].contains('['));
    if is_end { 1.0001 } else { 0.5001 }
}

/// Returns true if a displayed number is one of these.
fn is_one_of(shown: &regex::Captures<'_>, last_digit: f64, known: &[f64]) -> bool {
    let (digits, unit) = (shown[2].replace(',', ""), shown.get(3));
    let unit = unit.map_or("", |unit| unit.as_str());
    let decimals = digits.split_once('.').map_or(0, |(_, part)| part.len());
    let value: f64 = digits.parse().unwrap();
    let most = last_digit * 10_f64.powi(-i32::try_from(decimals).unwrap());
    let near = |number: f64| (number.abs() - value).abs() <= most;
    let factors = factors(unit);
    known.iter().any(|number| {
        let changes = (unit == "%" || unit.is_empty()) && near((number - 1.0) * 100.0);
        changes || factors.iter().any(|factor| near(number * factor))
    })
}

/// Returns true for digits after a letter, as in `p99_ms`.
fn is_in_a_name(shown: &regex::Captures<'_>, cell: &str) -> bool {
    let before = shown.get(0).map(|it| &cell[..it.start()]);
    before.is_some_and(|it| it.ends_with(char::is_alphabetic))
}

/// Returns true for a cell with a reason instead of a number.
fn is_reason(cell: &str, json: &Value) -> bool {
    match json {
        Value::String(text) => cell.ends_with(text.as_str()) && text.contains(' '),
        Value::Array(all) => all.iter().any(|one| is_reason(cell, one)),
        Value::Object(fields) => fields.values().any(|one| is_reason(cell, one)),
        _ => false,
    }
}

/// The numbers of each policy in a JSON report.
fn by_policy(policies: &[String], json: &Value) -> Vec<(String, Vec<f64>)> {
    let numbers = |policy: &String| {
        let mut found = Vec::new();
        numbers_with(json, policy, false, &mut found);
        found.sort_by(f64::total_cmp);
        found.dedup();
        (policy.clone(), found)
    };
    policies.iter().map(numbers).collect()
}

/// The cells whose numbers do not belong to the policies of their row or column; if these name none, to any policy.
fn wrong_cells(grid: &Grid, known: &[(String, Vec<f64>)], json: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let Some((head, rows)) = grid.rows.split_first() else {
        return wrong;
    };
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let named = row.iter().chain(head.get(column));
            let named: BTreeSet<&str> = named.map(|cell| cell.text.trim()).collect();
            let is_name = known.iter().any(|(policy, _)| *policy == cell.text);
            if is_name || is_reason(&cell.text, json) {
                continue;
            }
            let all = || known.iter();
            let own = all().filter(|(policy, _)| named.contains(policy.as_str()));
            let mut own: Vec<&Vec<f64>> = own.map(|(_, numbers)| numbers).collect();
            if own.is_empty() {
                own = all().map(|(_, numbers)| numbers).collect();
            }
            for shown in SHOWN.captures_iter(&cell.text) {
                if is_in_a_name(&shown, &cell.text) {
                    continue;
                }
                let last_digit = last_digit(&shown, &cell.text);
                if !own
                    .iter()
                    .any(|numbers| is_one_of(&shown, last_digit, numbers))
                {
                    wrong.push(format!("{} in {:?}", &shown[0], row_text(row)));
                }
            }
        }
    }
    wrong
}

fn row_text(row: &[hugewise_text::grid::Cell]) -> String {
    let cells: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
    cells.join(" | ")
}

fn tables(report: &Report<'_>) -> Vec<(String, Grid)> {
    let figures = report.figures().into_iter();
    let figures = figures.filter(|figure| !ALONE.contains(&figure.id.as_str()));
    let mut tables: Vec<_> = figures.map(|figure| (figure.id, figure.table)).collect();
    for section in report.document(usize::MAX, Verbosity::Verbose).sections {
        let title = section.heading.unwrap_or_default();
        for (_, block) in section.blocks {
            if let Block::Table(grid) = block {
                tables.push((title.clone(), grid));
            }
        }
    }
    tables
}

fn report_of<T>(name: &str, then: impl FnOnce(&Report<'_>, &[String]) -> T) -> T {
    let path = format!("{}/../../fixtures/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    #[expect(clippy::disallowed_methods, reason = "a test reads the fixtures")]
    let record = parse(&std::fs::read(path).unwrap()).unwrap();
    let policies = record.header.plan.policies.iter();
    let policies: Vec<String> = policies.map(|policy| policy.name.clone()).collect();
    let table = table(&record, &Options::default()).unwrap();
    then(&hugewise_bench::report(&record, table, None), &policies)
}

fn wrong_numbers(report: &Report<'_>, policies: &[String], json: &Value) -> Vec<String> {
    let known = by_policy(policies, json);
    let all = tables(report).into_iter().flat_map(|(title, grid)| {
        let cells = wrong_cells(&grid, &known, json);
        cells
            .into_iter()
            .map(move |cell| format!("{title}: {cell}"))
    });
    all.collect()
}

#[test]
fn numbers_of_a_page_are_those_of_the_json_report() {
    for name in RUNS {
        let wrong = report_of(name, |report, policies| {
            let json = serde_json::from_str(&report.json()).unwrap();
            wrong_numbers(report, policies, &json)
        });
        assert!(wrong.is_empty(), "{name}: {}", wrong.join("\n"));
    }
}

#[test]
fn a_number_of_another_report_is_found() {
    let other = report_of("runs/no-effect", |report, _| report.json());
    let other = serde_json::from_str(&other).unwrap();
    let wrong = report_of("runs/clear-win", |report, policies| {
        wrong_numbers(report, policies, &other)
    });
    assert!(wrong.len() > 50, "{}", wrong.len());
}
