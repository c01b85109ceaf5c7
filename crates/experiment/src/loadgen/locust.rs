//! locust `--csv PREFIX`: the rows of `PREFIX_stats.csv`, one for each kind of request and one for
//! all (`Aggregated`).
//!
//! Source: `StatsCSV` of locust's stats.py: times in milliseconds, `N/A` for missing ones. Its count of requests
//! includes failed ones.

use super::columns::{Figure, Format};
use super::csv::Table;
use super::figures::{Figures, has_count};
use super::{Load, LoadReport, ReadError};
use crate::run::trial::Pacing;

/// The kind and the name of the row of all requests, now and before 1.0.
const ALL: [(&str, &str); 3] = [
    ("", "Aggregated"),
    ("None", "Aggregated"),
    ("None", "Total"),
];

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let text = String::from_utf8_lossy(bytes);
    let mut rows = Table::new(&text, ',');
    let heading = rows
        .next()
        .transpose()?
        .map(|row| row.cells)
        .unwrap_or_default();
    if !has_count(Format::Locust, &heading, Figure::Sent) {
        let problem = "it is no table of locust; read the file PREFIX_stats.csv of --csv PREFIX";
        return Err(ReadError::of("Request Count", problem));
    }
    let mut loads = Vec::new();
    for row in rows {
        let row = row?;
        let cells = heading.iter().zip(&row.cells);
        let load = Figures::of(Format::Locust, Some(row.line), cells)?.load();
        let name = match row.cells.as_slice() {
            [kind, name, ..] if ALL.contains(&(kind.as_str(), name.as_str())) => None,
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
        // A locust user sends its next request after the previous answer.
        pacing: Pacing::Closed,
    })
}
