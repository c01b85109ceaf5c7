//! The report for programs: the answer, and the readings behind it.

use serde_json::{Map, Value, json};

use super::Report;
use crate::run::compare::summary;
use crate::run::record::Record;
use crate::run::trial::{Reading, Trial, readings};

/// Name and version of this format. Version 1 had comparisons, verdict, conclusion and findings instead of the answer.
pub const FORMAT: &str = "hugewise-report 2";

pub(super) fn json(report: &Report<'_>) -> String {
    let header = &report.record.header;
    let mut object = json!({
        "format": FORMAT,
        "answer": value(report.answer()),
        "host": value(&header.host),
        "policies": policies(report.record),
        "trials": null,
        "summaries": summaries(report.record),
        "plan": value(&header.plan),
        "end": value(&report.record.end),
        "program": header.program,
        "other": report.other.as_ref().map(|it| other(it.record)),
    });
    // The macro would copy its arguments, and these are most of the data.
    object["trials"] = trials(report.record, &report.record.trials).into();
    if !report.record.cold.is_empty() {
        object["cold_trials"] = json!(trials(report.record, &report.record.cold));
    }
    if let Some((key, part)) = report.cells.as_ref().and_then(|cells| cells.json()) {
        object[key] = part;
    }
    if let Some(inside) = &report.record.inside {
        object["inside"] = json!({
            "plan": value(&inside.header.plan),
            "trials": trials(inside, &inside.trials),
        });
    }
    if !report.record.removals.is_empty() {
        object["dropped"] = value(&report.record.removals);
    }
    // `{:#}` of a value is its indented form.
    format!("{object:#}\n")
}

/// Infinities and NaN become `null`.
fn value(part: &(impl serde::Serialize + ?Sized)) -> Value {
    serde_json::to_value(part).expect("all keys are strings or numbers, and no part can fail")
}

/// The trials as in the record, with the name of their program if several are compared; a missing reading also has its
/// reason in words.
fn trials(record: &Record, trials: &[Trial]) -> Vec<Value> {
    let trial = |trial: &Trial| {
        let mut object = value(trial);
        if let Some(program) = record.header.plan.program_of(&trial.policy) {
            object["program"] = json!(program.name);
        }
        for (name, reading) in &trial.readings {
            if let Reading::Missing { missing } = reading {
                object["readings"][name]["missing"]["text"] = json!(missing.to_string());
            }
        }
        object
    };
    trials.iter().map(trial).collect()
}

/// Every metric with readings under each policy: its median over trials with its interval.
fn summaries(record: &Record) -> Vec<Value> {
    let metrics = readings::names(record.trials.iter().map(|trial| &trial.readings));
    let mut summaries = Vec::new();
    for policy in &record.header.plan.policies {
        for metric in &metrics {
            if let Some(summary) = summary(record, &policy.name, metric) {
                summaries.push(json!({
                    "metric": metric,
                    "policy": policy.name,
                    "median": summary.median,
                    "low": summary.low,
                    "high": summary.high,
                    "n": summary.n,
                }));
            }
        }
    }
    summaries
}

fn policies(record: &Record) -> Vec<Value> {
    let header = &record.header;
    let policy = |policy: &crate::run::policy::Policy| {
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
        "trials": trials(record, &record.trials),
        "summaries": summaries(record),
        "end": value(&record.end),
        "warnings": record.warnings,
    })
}
