//! Tables with a row for each kind of request: which column is which figure.

use super::moment::exact_nanos;
use super::{Latency, Load, ReadError, number};
use crate::run::plan::TimeUnit;
use crate::run::stats::Quantile;

/// The columns of a table by the names in its heading; what it lacks is not read.
pub(super) struct Columns {
    /// The unit of times.
    pub(super) unit: TimeUnit,
    pub(super) quantiles: &'static [(&'static str, Quantile)],
    /// Requests per second.
    pub(super) rate: &'static str,
    /// Sent requests and failed requests.
    pub(super) sent: Option<[&'static str; 2]>,
}

/// The words for a figure that there is none of.
const NONE: [&str; 2] = ["", "N/A"];

impl Columns {
    /// The figures of one row.
    pub(super) fn load(
        &self,
        line: usize,
        heading: &[String],
        cells: &[String],
    ) -> Result<Load, ReadError> {
        let cell = |name: &str| {
            let at = heading.iter().position(|it| it.trim() == name)?;
            let text = cells.get(at)?.trim();
            (!NONE.contains(&text)).then_some(text)
        };
        let read = |name: &str| {
            let text = cell(name).unwrap_or_default();
            number(text).ok_or_else(|| ReadError::at(line, name, format!("`{text}` is no number")))
        };
        let counts = self
            .sent
            .map(|[sent, failed]| Ok([read(sent)?, read(failed)?]));
        let counts: Option<[f64; 2]> = counts.transpose()?;
        let mut quantiles = Vec::new();
        for (name, quantile) in self.quantiles {
            let Some(text) = cell(name) else { continue };
            let ns = exact_nanos(text, self.unit)
                .ok_or_else(|| ReadError::at(line, *name, format!("`{text}` is no time")))?;
            quantiles.push((*quantile, TimeUnit::Nanos.to_seconds(ns as f64)));
        }
        Ok(Load {
            latency: Some(Latency::Quantiles(quantiles)),
            throughput: vec![read(self.rate)?],
            requests: counts.map(|[sent, failed]| (sent - failed).max(0.0) as u64),
            errors: counts.map(|[_, failed]| failed as u64),
            sent: counts.map(|[sent, _]| sent as u64),
            ..Load::default()
        })
    }
}
