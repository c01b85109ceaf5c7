//! locust `--csv PREFIX`: the rows of `PREFIX_stats.csv`, one for each kind of request and one for
//! all (`Aggregated`).
//!
//! Source: `StatsCSV` of locust's stats.py: times in milliseconds, `N/A` where there are none.
//! Its count of requests includes failed ones.

use super::columns::Columns;
use super::csv::Table;
use super::{Load, LoadReport, ReadError};
use crate::run::plan::TimeUnit;
use crate::run::stats::Quantile;
use crate::run::trial::Pacing;

const COLUMNS: Columns = Columns {
    unit: TimeUnit::Millis,
    quantiles: &[
        ("50%", Quantile::P50),
        ("90%", Quantile::P90),
        ("95%", Quantile::P95),
        ("99%", Quantile::P99),
        ("99.9%", Quantile::P999),
        ("Max Response Time", Quantile::Max),
    ],
    rate: "Requests/s",
    sent: Some(["Request Count", "Failure Count"]),
};

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let text = String::from_utf8_lossy(bytes);
    let mut rows = Table::new(&text, ',');
    let heading = rows
        .next()
        .transpose()?
        .map(|row| row.cells)
        .unwrap_or_default();
    if !heading.iter().any(|name| name == "Request Count") {
        let problem = "it is no table of locust; read the file PREFIX_stats.csv of --csv PREFIX";
        return Err(ReadError::of("Request Count", problem));
    }
    let mut loads = Vec::new();
    for row in rows {
        let row = row?;
        let load = COLUMNS.load(row.line, &heading, &row.cells)?;
        let name = match row.cells.as_slice() {
            [kind, name, ..] if kind.is_empty() && name == "Aggregated" => None,
            [kind, name, ..] => Some(format!("{kind} {name}").trim().to_owned()),
            _ => None,
        };
        loads.push(Load { name, ..load });
    }
    if loads.is_empty() {
        return Err(ReadError::of("Request Count", "the table has no row"));
    }
    Ok(LoadReport {
        loads,
        // A user of locust sends its next request when the last was answered.
        pacing: Pacing::Closed,
    })
}
