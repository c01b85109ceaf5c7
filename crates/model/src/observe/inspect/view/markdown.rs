//! For an issue or a pull request: the reasons as a table.

use std::fmt::{self, Write};

use crate::base::units::bytes_text;
use crate::text::wrap::plain;

use super::Inspection;

/// Draws inspections as Markdown, one table each.
///
/// # Errors
/// Only those of `out`.
pub fn render_markdown(inspections: &[Inspection], out: &mut impl Write) -> fmt::Result {
    for (place, inspection) in inspections.iter().enumerate() {
        let process = &inspection.space.process;
        if place > 0 {
            writeln!(out)?;
        }
        let command = plain(&process.command).replace('|', "\\|");
        writeln!(out, "**Process {} ({command})**\n", process.pid)?;
        writeln!(
            out,
            "| reason | ranges | address space | resident | what it is |"
        )?;
        writeln!(out, "|---|---:|---:|---:|---|")?;
        for reason in &inspection.summary.reasons {
            writeln!(
                out,
                "| `{}` | {} | {} | {} | {} |",
                reason.code,
                reason.ranges,
                bytes_text(reason.bytes),
                reason.resident.map_or_else(|| "?".to_owned(), bytes_text),
                reason.code.sentence()
            )?;
        }
        for growth in &inspection.growth {
            writeln!(
                out,
                "\nGrowth in steps: {}; {}. Repair: {}.",
                growth.evidence, growth.or, growth.repair
            )?;
        }
    }
    Ok(())
}
