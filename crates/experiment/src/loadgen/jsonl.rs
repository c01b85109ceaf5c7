//! A field of one JSON object in each line, one request a line.

use serde_json::Value;

use super::moment::{exact_nanos, timed};
use super::{Latency, Load, LoadReport, ReadError, lines};
use crate::base::histogram::distribution::{Distribution, Grain};
use crate::run::plan::{Stamp, TimeUnit};
use crate::run::trial::{Pacing, Timed};

pub(super) fn parse(
    bytes: &[u8],
    field: &str,
    unit: TimeUnit,
    stamp: Option<&Stamp>,
) -> Result<LoadReport, ReadError> {
    let mut all = Collected::new(unit);
    for (line, text) in lines(bytes).filter(|(_, line)| !line.trim().is_empty()) {
        let object: Value = serde_json::from_str(&text)
            .map_err(|error| ReadError::at(line, "JSON", error.to_string()))?;
        let took = all.add(line, field, &named(&object, line, field)?)?;
        if let Some(stamp) = stamp {
            let time = named(&object, line, &stamp.field)?;
            all.timed.push(timed(stamp, line, &time, took)?);
        }
    }
    all.report(field)
}

/// The number of a field, as it is written.
fn named(object: &Value, line: usize, field: &str) -> Result<String, ReadError> {
    let found = field
        .split('.')
        .try_fold(object, |value, part| value.get(part));
    match found {
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err(ReadError::at(line, field, "the object has no such number")),
    }
}

/// Requests that are told one by one.
pub(super) struct Collected {
    all: Distribution,
    unit: TimeUnit,
    /// The most decimals that were written: they tell how fine the source's clock is.
    decimals: usize,
    /// The requests with their times, where the source has them.
    pub(super) timed: Vec<Timed>,
}

impl Collected {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self {
            all: Distribution::new(Grain::Bucket, 1),
            unit,
            decimals: 0,
            timed: Vec::new(),
        }
    }

    /// Adds a request; its time in nanoseconds.
    pub(super) fn add(&mut self, line: usize, field: &str, text: &str) -> Result<u64, ReadError> {
        let ns = exact_nanos(text, self.unit).ok_or_else(|| {
            ReadError::at(
                line,
                field,
                format!("`{text}` is no time in {}", self.unit.word()),
            )
        })?;
        let decimals = text
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        self.decimals = self.decimals.max(decimals);
        self.all.add(ns, 1);
        Ok(ns)
    }

    pub(super) fn report(self, field: &str) -> Result<LoadReport, ReadError> {
        if self.all.count() == 0 {
            return Err(ReadError::of(field, "it was written nowhere"));
        }
        let decimals = u32::try_from(self.decimals).unwrap_or(u32::MAX);
        let parts = 10_u64.checked_pow(decimals).unwrap_or(u64::MAX);
        let mut all = Distribution::new(Grain::Bucket, self.unit.nanos() / parts);
        all.merge(&self.all);
        Ok(LoadReport {
            loads: vec![Load {
                requests: Some(all.count()),
                latency: Some(Latency::Counted(all)),
                timed: self.timed,
                ..Load::default()
            }],
            pacing: Pacing::Unknown,
        })
    }
}
