//! One line for each row of every table.

use std::io::{self, Write};

use super::tables::site;
use crate::observe::faults::summary::{NamedRow, Row, Summary};
use crate::text::csv_field;

/// Writes one line for each kind, way, mapping and place.
///
/// # Errors
/// The writer failed.
pub fn render_csv(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "table,name,faults,timed,time_ns,p50_ns,p90_ns,p99_ns,p99_9_ns,max_ns"
    )?;
    for kind in &summary.kinds {
        writeln!(
            out,
            "kind,{},{}",
            csv_field(&kind.label),
            latencies(&kind.row)
        )?;
    }
    let sites: Vec<NamedRow> = summary
        .sites
        .iter()
        .map(|row| NamedRow {
            name: site(row),
            faults: row.faults,
            time_ns: row.time_ns,
        })
        .collect();
    let lists = [
        ("growth", &summary.growth),
        ("mapping", &summary.mappings),
        ("site", &sites),
    ];
    for (table, rows) in lists {
        for row in rows {
            let name = csv_field(&row.name);
            writeln!(out, "{table},{name},{},,{},,,,,", row.faults, row.time_ns)?;
        }
    }
    Ok(())
}

/// What of a row has a latency: its counts, and the percentiles where there are any.
fn latencies(row: &Row) -> String {
    let counts = format!("{},{},{}", row.faults, row.timed, row.time_ns);
    match &row.latency {
        Some(q) => format!(
            "{counts},{},{},{},{},{}",
            q.p50_ns, q.p90_ns, q.p99_ns, q.p99_9_ns, q.max_ns
        ),
        None => format!("{counts},,,,,"),
    }
}
