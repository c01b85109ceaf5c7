use super::tables::site;
use crate::faults::summary::{FaultSummary, Row};
use hugewise_text::csv::Csv;

const HEADING: [&str; 10] = [
    "table", "name", "faults", "timed", "time_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns",
    "max_ns",
];

impl FaultSummary {
    /// As CSV: a row for each kind, way of allocation, mapping and call site.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = Csv::new(&HEADING);
        for kind in &self.kinds {
            csv.row(kind_row(&kind.label, &kind.row));
        }
        let growth = self
            .growth
            .iter()
            .map(|row| ("growth", row.name.clone(), row));
        let mappings = self
            .mappings
            .iter()
            .map(|row| ("mapping", row.name.clone(), row));
        for (table, name, row) in growth.chain(mappings) {
            csv.row(list_row(table, name, row.faults, row.time_ns));
        }
        for row in &self.sites {
            csv.row(list_row("site", site(row), row.faults, row.time_ns));
        }
        csv.into_text()
    }
}

fn kind_row(label: &str, row: &Row) -> Vec<String> {
    let counts = [row.faults, row.timed, row.time_ns];
    let mut fields = vec!["kind".to_owned(), label.to_owned()];
    fields.extend(counts.map(|number| number.to_string()));
    let quantiles = row
        .latency
        .map(|q| [q.p50_ns, q.p90_ns, q.p99_ns, q.p99_9_ns, q.max_ns]);
    match quantiles {
        Some(quantiles) => fields.extend(quantiles.map(|ns| ns.to_string())),
        None => fields.resize(HEADING.len(), String::new()),
    }
    fields
}

fn list_row(table: &str, name: String, faults: u64, time_ns: u64) -> Vec<String> {
    let mut fields = vec![table.to_owned(), name, faults.to_string(), String::new()];
    fields.push(time_ns.to_string());
    fields.resize(HEADING.len(), String::new());
    fields
}
