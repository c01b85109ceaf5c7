//! JSON of Python's pyperf, as `pyperf command -o FILE` writes it.

use serde_json::{Map, Value, json};

use super::{Arm, arms};
use crate::base::calendar;
use crate::base::plain::plain;
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::trial::Trial;

/// A benchmark needs a run, and a run needs a time, so an arm without times is left out.
pub(super) fn render(record: &Record) -> Value {
    let benchmarks: Vec<Value> = arms(record).filter_map(|arm| benchmark(&arm)).collect();
    let host = &record.header.host;
    let facts = [
        ("made_by", record.header.program.as_str()),
        ("cpu_model_name", &host.cpu_model),
        ("kernel", &host.kernel),
        ("machine", &host.arch),
    ];
    let mut metadata = texts(&facts);
    metadata.insert("cpu_count".to_owned(), host.cpus.into());
    metadata.insert("unit".to_owned(), "second".into());
    json!({ "benchmarks": benchmarks, "metadata": metadata, "version": "1.0" })
}

fn benchmark(arm: &Arm<'_>) -> Option<Value> {
    let runs: Vec<Value> = arm.trials.iter().filter_map(|trial| run(trial)).collect();
    let metadata = texts(&[
        ("name", &arm.title()),
        ("command", &arm.command),
        ("policy", arm.policy),
        ("program", arm.program),
    ]);
    (!runs.is_empty()).then(|| json!({ "metadata": metadata, "runs": runs }))
}

/// One process with one value; pyperf refuses values that are not positive.
fn run(trial: &Trial) -> Option<Value> {
    let seconds = trial.value(MetricId::WallSeconds).filter(|it| *it > 0.0)?;
    let mut metadata = texts(&[("date", &calendar::second(trial.started_unix_ms))]);
    metadata.insert("duration".to_owned(), seconds.into());
    if let Some(bytes) = trial.value(MetricId::PeakRssBytes) {
        metadata.insert("command_max_rss".to_owned(), (bytes as u64).into());
    }
    Some(json!({ "metadata": metadata, "values": [seconds] }))
}

/// A text of pyperf's metadata is one line and not empty.
fn texts(facts: &[(&str, &str)]) -> Map<String, Value> {
    let facts = facts.iter().map(|(name, text)| (*name, plain(text)));
    let facts = facts.filter(|(_, text)| !text.trim().is_empty());
    facts
        .map(|(name, text)| (name.to_owned(), text.into()))
        .collect()
}
