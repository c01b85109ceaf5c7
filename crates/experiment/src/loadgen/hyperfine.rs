//! hyperfine `--export-json`: every run of every command.

use serde_json::Value;

use super::columns::HYPERFINE;
use super::json::{document, list, named, text};
use super::names::told_apart;
use super::{Load, LoadReport, ReadError};
use crate::run::trial::Pacing;

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let document = document(bytes)?;
    let results = list(&document, "results")?;
    let mut loads: Vec<Load> = Vec::new();
    for (result, name) in results.iter().zip(names(results)?) {
        let load = named(&mut loads, &name);
        for time in list(result, HYPERFINE.took)? {
            let took = time.as_f64().filter(|took| *took >= 0.0);
            let took = took.ok_or_else(|| ReadError::of(HYPERFINE.took, "not a time"))?;
            load.add_value(HYPERFINE.unit.to_seconds(took));
        }
        let codes = result.get("exit_codes").and_then(Value::as_array);
        let failed = |code: &&Value| code.as_i64() != Some(0);
        let failures = codes.map_or(0, |codes| codes.iter().filter(failed).count());
        let runs = codes.map_or(0, Vec::len);
        load.errors = Some(load.errors.unwrap_or(0) + failures as u64);
        load.sent = Some(load.sent.unwrap_or(0) + runs as u64);
    }
    if let [only] = loads.as_mut_slice() {
        only.name = None;
    }
    loads.retain(|load| load.latency.is_some());
    if loads.is_empty() {
        return Err(ReadError::of("results", "it holds no run"));
    }
    Ok(LoadReport {
        loads,
        pacing: Pacing::Unknown,
    })
}

/// The name of each command, with its parameters if another one has the same name (`-n`).
fn names(results: &[Value]) -> Result<Vec<String>, ReadError> {
    let named = results.iter().map(|result| {
        let parameters = result.get("parameters").and_then(Value::as_object);
        let parameters = parameters.into_iter().flatten();
        let written = parameters.map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name}={text}"),
            None => format!("{name}={value}"),
        });
        let written: Vec<String> = written.collect();
        Ok((text(result, "command")?.to_owned(), written.join(" ")))
    });
    let named: Vec<_> = named.collect::<Result<_, ReadError>>()?;
    Ok(told_apart(&named))
}
