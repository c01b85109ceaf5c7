//! CSV for spreadsheets: one row per interval and value.

use super::{Header, Interval, Tally};
use hugewise_experiment::run::trial::Reading;
use hugewise_text::csv::Csv;

const COLUMNS: [&str; 12] = [
    "interval",
    "start_seconds",
    "end_seconds",
    "name",
    "event",
    "pmu",
    "group",
    "scope",
    "value",
    "enabled_ns",
    "running_ns",
    "missing",
];

/// The header row.
#[must_use]
pub fn csv_heading() -> String {
    Csv::new(&COLUMNS).into_text()
}

/// The rows of one interval.
#[must_use]
pub fn csv_rows(header: &Header, interval: &Interval) -> String {
    let mut csv = Csv::without_heading(COLUMNS.len());
    let seconds = |ns: u64| format!("{:.6}", ns as f64 / 1e9);
    let (start, end) = (seconds(interval.start_ns), seconds(interval.end_ns));
    let lead = [interval.index.to_string(), start, end];
    let mut row = |fields: [String; 9]| csv.row(lead.iter().cloned().chain(fields));
    for count in &interval.counts {
        let [value, enabled, running, missing] = tally(&count.tally);
        let (kind, event) = (count.kind.clone(), count.event.clone());
        let (pmu, group) = (count.pmu.clone(), count.group.to_string());
        let scope = String::new();
        row([
            kind, event, pmu, group, scope, value, enabled, running, missing,
        ]);
    }
    for (name, reading) in interval.readings.iter().chain(&interval.derived) {
        let (value, missing) = match reading {
            Reading::Value { value } => (value.to_string(), String::new()),
            Reading::Missing { missing } => (String::new(), missing.to_string()),
            Reading::Values { .. } | Reading::Histogram { .. } => continue,
        };
        let scope = header.scopes.get(name).map_or("", |&scope| scope.into());
        let none = String::new;
        let (name, scope) = (name.clone(), scope.to_owned());
        row([
            name,
            none(),
            none(),
            none(),
            scope,
            value,
            none(),
            none(),
            missing,
        ]);
    }
    csv.into_text()
}

fn tally(tally: &Tally) -> [String; 4] {
    let none = String::new();
    match tally {
        Tally::Counted {
            value,
            enabled_ns,
            running_ns,
        } => [
            value.to_string(),
            enabled_ns.to_string(),
            running_ns.to_string(),
            none,
        ],
        Tally::Missing { missing } => [none.clone(), none.clone(), none, missing.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{header, interval};
    use super::*;

    #[test]
    fn every_row_has_as_many_fields_as_the_first() {
        let text = csv_heading() + &csv_rows(&header(), &interval(0));
        // No field of this sample contains a comma.
        let fields: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(fields.len() > 30);
        assert!(fields.iter().all(|&count| count == fields[0]), "{text}");
        assert!(text.contains("dtlb_load_walks,DTLB_LOAD_WALKS,cpu,0,,1200000,500000000,"));
        assert!(text.contains("thp_fault_alloc_total,,,,machine,41,"));
    }
}
