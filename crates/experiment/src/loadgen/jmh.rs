//! JMH `-rf json`.
//!
//! Source: `JSONResultFormat` of JMH. `mode` is `thrpt`, `avgt`, `sample` or `ss`. `rawData` has a list for each fork
//! with a value for each iteration. `rawDataHistogram` (mode `sample`) has pairs of value and count instead of each
//! value. `scoreUnit` is `ops/TIME` or `TIME/op`.

use serde_json::Value;

use super::json::{document, list, named, text};
use super::names::told_apart;
use super::{Latency, Load, LoadReport, ReadError};
use crate::base::histogram::distribution::{Distribution, Grain};
use crate::run::plan::TimeUnit;
use crate::run::trial::Pacing;

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let document = document(bytes)?;
    let results = document
        .as_array()
        .ok_or_else(|| ReadError::of("JSON", "the results of JMH are a list"))?;
    let mut loads: Vec<Load> = Vec::new();
    for (result, name) in results.iter().zip(names(results)?) {
        let load = named(&mut loads, &name);
        read(result, load)
            .map_err(|error| ReadError::of(format!("{name}.{}", error.field), error.problem))?;
    }
    if loads.is_empty() {
        return Err(ReadError::of("JSON", "it holds no benchmark"));
    }
    Ok(LoadReport {
        loads,
        pacing: Pacing::Unknown,
    })
}

/// The name of each result: class and method, with the parameters. The package, the mode of its times and its threads
/// are added if another result differs only in them.
fn names(results: &[Value]) -> Result<Vec<String>, ReadError> {
    let plain: Vec<String> = results.iter().map(name).collect::<Result<_, _>>()?;
    let with = |names: &[String], detail: &dyn Fn(&Value) -> String| {
        let details = results.iter().map(detail);
        let both: Vec<_> = names.iter().cloned().zip(details).collect();
        told_apart(&both)
    };
    let package = |result: &Value| {
        let parts = text(result, "benchmark")
            .unwrap_or_default()
            .rsplitn(3, '.');
        parts.last().unwrap_or_default().to_owned()
    };
    let threads = |result: &Value| {
        let threads = result.get("threads").and_then(Value::as_u64);
        threads.map_or_else(String::new, |it| format!("threads={it}"))
    };
    let told = with(&with(&plain, &package), &threads);
    // Rates can have the same name as times, but times of two modes are different things.
    let timed: Vec<(String, String)> = told
        .iter()
        .zip(results)
        .map(|(name, result)| match has_times(result) {
            true => (
                name.clone(),
                text(result, "mode").unwrap_or_default().to_owned(),
            ),
            false => (format!("{name}\n"), String::new()),
        })
        .collect();
    let told = told_apart(&timed).into_iter();
    Ok(told.map(|name| name.trim().to_owned()).collect())
}

/// Returns true if the result consists of times, not of rates.
fn has_times(result: &Value) -> bool {
    let metric = result.get("primaryMetric");
    let unit = metric
        .and_then(|it| it.get("scoreUnit"))
        .and_then(Value::as_str);
    unit.is_some_and(|unit| unit.ends_with("/op"))
}

/// Class and method, with the parameters.
fn name(result: &Value) -> Result<String, ReadError> {
    let full = text(result, "benchmark")?;
    let mut parts: Vec<&str> = full.rsplit('.').take(2).collect();
    parts.reverse();
    let mut name = parts.join(".");
    for (key, value) in result
        .get("params")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        name.push_str(&format!(" {key}={}", value.as_str().unwrap_or_default()));
    }
    Ok(name)
}

fn read(result: &Value, load: &mut Load) -> Result<(), ReadError> {
    let metric = result
        .get("primaryMetric")
        .ok_or_else(|| ReadError::of("primaryMetric", "there is none"))?;
    let unit = text(metric, "scoreUnit")?;
    let strange = || ReadError::of("scoreUnit", format!("`{unit}` is not known"));
    if let Some(per) = unit.strip_prefix("ops/") {
        let per: TimeUnit = per.parse().map_err(|_| strange())?;
        let rates = singles(metric)?;
        load.throughput
            .extend(rates.iter().map(|rate| rate / per.to_seconds(1.0)));
        return Ok(());
    }
    let unit: TimeUnit = unit
        .strip_suffix("/op")
        .and_then(|unit| unit.parse().ok())
        .ok_or_else(strange)?;
    if metric.get("rawDataHistogram").is_some() {
        let mut all = histogram(metric, unit)?;
        if let Some(Latency::Counted(before)) = &load.latency {
            all.merge(before);
        }
        load.latency = Some(Latency::Counted(all));
    } else {
        for value in singles(metric)? {
            load.add_value(unit.to_seconds(value));
        }
    }
    Ok(())
}

fn singles(metric: &Value) -> Result<Vec<f64>, ReadError> {
    let mut values = Vec::new();
    for fork in list(metric, "rawData")? {
        for value in fork.as_array().into_iter().flatten() {
            let value = value
                .as_f64()
                .filter(|value| value.is_finite() && *value >= 0.0);
            values.push(value.ok_or_else(|| ReadError::of("rawData", "not a number"))?);
        }
    }
    if values.is_empty() {
        return Err(ReadError::of("rawData", "it is empty"));
    }
    Ok(values)
}

fn histogram(metric: &Value, unit: TimeUnit) -> Result<Distribution, ReadError> {
    let mut all = Distribution::new(Grain::Bucket, 1);
    let forks = list(metric, "rawDataHistogram")?.iter();
    let iterations = forks.flat_map(|fork| fork.as_array().into_iter().flatten());
    for pair in iterations.flat_map(|iteration| iteration.as_array().into_iter().flatten()) {
        let value = pair.get(0).and_then(Value::as_f64);
        let ns = value.and_then(|value| unit.to_nanos(value));
        let (Some(ns), Some(count)) = (ns, pair.get(1).and_then(Value::as_u64)) else {
            return Err(ReadError::of("rawDataHistogram", "expected [value, count]"));
        };
        all.add(ns, count);
    }
    if all.count() == 0 {
        return Err(ReadError::of("rawDataHistogram", "it is empty"));
    }
    Ok(all)
}
