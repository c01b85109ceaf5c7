//! For spreadsheets: one row for each interval and figure.

use std::fmt::{self, Write};

use super::{Header, Interval, Tally};
use crate::base::missing::Missing;
use crate::run::metric::Scope;
use crate::run::trial::Reading;
use crate::text::csv_field as field;

/// The first row.
///
/// # Errors
/// Only those of `out`.
pub fn render_csv_header(out: &mut impl Write) -> fmt::Result {
    writeln!(
        out,
        "interval,start_seconds,end_seconds,name,event,pmu,group,scope,value,enabled_ns,running_ns,missing"
    )
}

/// The rows of one interval (RFC 4180).
///
/// # Errors
/// Only those of `out`.
pub fn render_csv_interval(
    header: &Header,
    interval: &Interval,
    out: &mut impl Write,
) -> fmt::Result {
    let lead = format!(
        "{},{:.6},{:.6}",
        interval.index,
        interval.start_ns as f64 / 1e9,
        interval.end_ns as f64 / 1e9
    );
    for count in &interval.counts {
        let event = format!(
            "{},{},{},{},",
            count.kind,
            field(&count.event),
            field(&count.pmu),
            count.group
        );
        match &count.tally {
            Tally::Counted {
                value,
                enabled_ns,
                running_ns,
            } => writeln!(out, "{lead},{event},{value},{enabled_ns},{running_ns},")?,
            Tally::Missing { missing } => writeln!(out, "{lead},{event},,,,{}", reason(missing))?,
        }
    }
    for (name, reading) in interval.readings.iter().chain(&interval.derived) {
        let scope = header.scopes.get(name).map_or("", |&scope| word(scope));
        match reading {
            Reading::Value { value } => writeln!(out, "{lead},{name},,,,{scope},{value},,,")?,
            Reading::Missing { missing } => {
                writeln!(out, "{lead},{name},,,,{scope},,,,{}", reason(missing))?;
            }
            Reading::Values { .. } | Reading::Histogram { .. } => {}
        }
    }
    Ok(())
}

fn word(scope: Scope) -> &'static str {
    match scope {
        Scope::Tree => "tree",
        Scope::Process => "process",
        Scope::Main => "main",
        Scope::Group => "group",
        Scope::Machine => "machine",
        Scope::Own => "own",
    }
}

fn reason(missing: &Missing) -> String {
    field(&missing.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::sample::{header, interval};
    use super::*;

    #[test]
    fn every_row_has_as_many_fields_as_the_first() {
        let mut text = String::new();
        render_csv_header(&mut text).unwrap();
        render_csv_interval(&header(), &interval(0), &mut text).unwrap();
        // No field of this sample holds a comma.
        let fields: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(fields.len() > 30);
        assert!(fields.iter().all(|&count| count == fields[0]), "{text}");
        assert!(text.contains("dtlb_load_walks,DTLB_LOAD_WALKS,cpu,0,,1200000,500000000,"));
        assert!(text.contains("thp_fault_alloc_total,,,,machine,41,"));
    }
}
