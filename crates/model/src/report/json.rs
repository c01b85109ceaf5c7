//! For programs: the whole report as one object.

use std::fmt::{self, Write};

use serde_json::{Map, Value, json};

use super::Report;
use crate::record::Record;

/// Name and version of this format.
pub const FORMAT: &str = "hugewise-report 1";

/// Draws a report as JSON. Numbers are finite: what cannot be told is `null` or absent.
///
/// # Errors
/// Only those of `out`.
pub fn render_json(report: &Report<'_>, out: &mut impl Write) -> fmt::Result {
    let header = &report.record.header;
    let object = json!({
        "format": FORMAT,
        "program": header.program,
        "record": report.record_path,
        "answers": report.answers(),
        "host": value(&header.host),
        "plan": value(&header.plan),
        "policies": policies(report.record),
        "baseline": report.table.verdict.baseline,
        "trials": value(&report.record.trials),
        "comparisons": value(&report.table.comparisons),
        "control": value(&report.table.control),
        "verdict": value(&report.table.verdict),
        "findings": value(&report.findings),
        "end": value(&report.record.end),
        "warnings": report.record.warnings,
        "other": report.other.as_ref().map(|it| other(it.record)),
    });
    // `{:#}` of a value is its indented form.
    writeln!(out, "{object:#}")
}

/// Infinities and NaN become `null` on the way.
fn value(part: &impl serde::Serialize) -> Value {
    serde_json::to_value(part).expect("all keys are strings or numbers, and no part can fail")
}

fn policies(record: &Record) -> Vec<Value> {
    let header = &record.header;
    let policy = |policy: &crate::policy::Policy| {
        let mut object = Map::new();
        object.insert("name".to_owned(), json!(policy.name));
        object.insert("settings".to_owned(), value(&policy.settings));
        let realisation = header.realisations.get(&policy.name);
        object.insert("realisation".to_owned(), value(&realisation));
        Value::Object(object)
    };
    header.plan.policies.iter().map(policy).collect()
}

/// The second record of a comparison.
fn other(record: &Record) -> Value {
    json!({
        "host": value(&record.header.host),
        "plan": value(&record.header.plan),
        "policies": policies(record),
        "trials": value(&record.trials),
        "end": value(&record.end),
        "warnings": record.warnings,
    })
}
