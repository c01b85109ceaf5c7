//! CSV for spreadsheets: one row for each judgement.

use crate::inspect::reasons::{Certainty, Code};
use hugewise_text::csv::{Csv, optional};

use super::Inspection;

/// Inspections as CSV, one row for each run of ranges with one reason.
#[must_use]
pub fn csv(inspections: &[Inspection]) -> String {
    let mut csv = Csv::new(&[
        "pid",
        "command",
        "start",
        "end",
        "mapping",
        "permissions",
        "ranges",
        "resident_bytes",
        "code",
        "certainty",
        "one_of",
        "still",
        "evidence",
        "repair",
    ]);
    for inspection in inspections {
        let process = &inspection.space.process;
        for one in &inspection.judgements {
            let mapping = &inspection.space.mappings[one.mapping];
            let (certainty, others) = match &one.certainty {
                Certainty::Proved => ("proved", String::new()),
                Certainty::OneOf(codes) => ("one_of", names(codes)),
                Certainty::Unknown => ("unknown", String::new()),
            };
            csv.row([
                process.pid.to_string(),
                process.command.clone(),
                format!("{:#x}", one.start),
                format!("{:#x}", one.end),
                mapping.name.to_string(),
                String::from(mapping.permissions),
                one.ranges.to_string(),
                optional(one.resident_bytes),
                one.code.to_string(),
                certainty.to_owned(),
                others,
                optional(one.still.as_ref().map(|still| still.code)),
                one.evidence.join("; "),
                one.repair.clone().unwrap_or_default(),
            ]);
        }
    }
    csv.into_text()
}

fn names(codes: &[Code]) -> String {
    let names: Vec<&str> = codes.iter().map(|code| code.name()).collect();
    names.join(" ")
}
