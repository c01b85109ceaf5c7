//! For spreadsheets: one row for each judgement.

use std::fmt::{self, Write};

use crate::observe::inspect::reasons::Certainty;
use crate::text::csv_field as field;

use super::Inspection;

/// Draws inspections as CSV (RFC 4180), one row for each stretch of ranges with one reason.
///
/// # Errors
/// Only those of `out`.
pub fn render_csv(inspections: &[Inspection], out: &mut impl Write) -> fmt::Result {
    writeln!(
        out,
        "pid,command,start,end,mapping,permissions,ranges,resident_bytes,code,certainty,\
         one_of,still,evidence,repair"
    )?;
    for inspection in inspections {
        let process = &inspection.space.process;
        for one in &inspection.judgements {
            let mapping = &inspection.space.mappings[one.mapping];
            let (certainty, others) = match &one.certainty {
                Certainty::Proved => ("proved", String::new()),
                Certainty::OneOf(codes) => {
                    let names: Vec<&str> = codes.iter().map(|code| code.name()).collect();
                    ("one_of", names.join(" "))
                }
                Certainty::Unknown => ("unknown", String::new()),
            };
            writeln!(
                out,
                "{},{},{:#x},{:#x},{},{},{},{},{},{certainty},{others},{},{},{}",
                process.pid,
                field(&process.command),
                one.start,
                one.end,
                field(&mapping.name),
                String::from(mapping.permissions),
                one.ranges,
                one.resident_bytes
                    .map_or_else(String::new, |bytes| bytes.to_string()),
                one.code,
                one.still.as_ref().map_or("", |still| still.code.name()),
                field(&one.evidence.join("; ")),
                field(one.repair.as_deref().unwrap_or("")),
            )?;
        }
    }
    Ok(())
}
