//! For a terminal: the process, its memory by kind, the reasons in short, then the mappings
//! with the reason of every range.

use std::fmt::{self, Write};

use crate::base::missing::Missing;
use crate::base::units::bytes_text;
use crate::observe::address_space::{Process, Sort, Source, WordSize};
use crate::text::Style;
use crate::text::wrap::{plain, wrapped};

use super::{Glob, Inspection};
use kinds::kinds;
use mappings::mappings;

mod kinds;
mod mappings;

pub(super) use mappings::{name, shown};

/// Draws one inspection. `only` picks mappings by name or address.
///
/// # Errors
/// Only those of `out`.
pub fn render_text(
    inspection: &Inspection,
    only: Option<&Glob>,
    style: &Style,
    out: &mut impl Write,
) -> fmt::Result {
    let mut pen = Pen {
        width: style.width.max(60),
        out,
    };
    head(inspection, &mut pen)?;
    if inspection.space.mappings.is_empty() {
        return Ok(());
    }
    if only.is_none() {
        kinds(inspection, &mut pen)?;
        reasons(inspection, &mut pen)?;
        growth(inspection, &mut pen)?;
    }
    mappings(inspection, only, style.verbose, &mut pen)?;
    sources(inspection, &mut pen)
}

/// Draws one inspection without its mappings.
///
/// # Errors
/// Only those of `out`.
pub fn render_summary(inspection: &Inspection, style: &Style, out: &mut impl Write) -> fmt::Result {
    let mut pen = Pen {
        width: style.width.max(60),
        out,
    };
    head(inspection, &mut pen)?;
    if inspection.space.mappings.is_empty() {
        return Ok(());
    }
    kinds(inspection, &mut pen)?;
    reasons(inspection, &mut pen)
}

struct Pen<'a, W> {
    width: usize,
    out: &'a mut W,
}

impl<W: Write> Pen<'_, W> {
    fn line(&mut self, text: &str) -> fmt::Result {
        writeln!(self.out, "{}", text.trim_end())
    }

    /// A text that begins at `indent`, in all its lines.
    fn paragraph(&mut self, indent: usize, text: &str) -> fmt::Result {
        let lines = wrapped(text, self.width - indent, 0);
        lines
            .iter()
            .try_for_each(|line| writeln!(self.out, "{:indent$}{line}", ""))
    }
}

fn head<W: Write>(inspection: &Inspection, pen: &mut Pen<'_, W>) -> fmt::Result {
    let process = &inspection.space.process;
    let summary = &inspection.summary;
    let who = format!("Process {} ({})", process.pid, plain(&process.command));
    match process.sort {
        Sort::KernelThread => {
            return pen.paragraph(
                0,
                &format!("{who} is a thread of the kernel: it has no memory of its own."),
            );
        }
        Sort::Zombie if inspection.space.mappings.is_empty() => {
            return pen.paragraph(0, &format!("{who} is a zombie: it has ended, its memory is gone, and its parent {} has not waited for it.", process.parent));
        }
        _ => {}
    }
    let resident = summary.resident.map_or_else(
        || "resident memory not read".to_owned(),
        |resident| format!("{} resident", bytes_text(resident)),
    );
    let text = format!(
        "{who}, user {}, {}{}: {} mapped in {}, {resident}.",
        process.uid,
        counted(process.threads, "thread"),
        word_size(process),
        bytes_text(summary.mapped),
        counted(summary.mappings, "mapping"),
    );
    pen.paragraph(0, &text)
}

fn word_size(process: &Process) -> &'static str {
    match process.word_size {
        Ok(WordSize::Bits32) => ", 32-bit",
        _ => "",
    }
}

fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn reasons<W: Write>(inspection: &Inspection, pen: &mut Pen<'_, W>) -> fmt::Result {
    pen.line("")?;
    pen.line(&format!(
        "{:<21}{:>8}{:>11}  what it is",
        "Reason", "ranges", "resident"
    ))?;
    for reason in &inspection.summary.reasons {
        let resident = reason.resident.map_or_else(|| "?".to_owned(), bytes_text);
        let lead = format!(
            "{:<21}{:>8}{resident:>11}  ",
            reason.code.name(),
            reason.ranges
        );
        let room = pen.width - lead.chars().count();
        for (place, line) in wrapped(reason.code.sentence(), room, 0).iter().enumerate() {
            let lead = if place == 0 { &lead } else { "" };
            pen.line(&format!("{lead:<42}{line}"))?;
        }
    }
    Ok(())
}

fn growth<W: Write>(inspection: &Inspection, pen: &mut Pen<'_, W>) -> fmt::Result {
    for one in &inspection.growth {
        let mapping = &inspection.space.mappings[one.mapping];
        pen.line("")?;
        pen.paragraph(
            0,
            &format!(
                "Growth in steps: {} at {:x}: {}; {}. Repair: {}.",
                name(mapping),
                mapping.start,
                one.evidence,
                one.or,
                one.repair
            ),
        )?;
    }
    Ok(())
}

/// What could not be read, and what would have been gained.
fn sources<W: Write>(inspection: &Inspection, pen: &mut Pen<'_, W>) -> fmt::Result {
    let sources = &inspection.space.read_with;
    pen.line("")?;
    for (source, without) in [
        (&sources.smaps, "totals, flags and advice"),
        (
            &sources.page_scan,
            "which ranges a PMD maps, and zero pages",
        ),
        (
            &sources.frames,
            "folios: split huge pages, mTHP and small pages look alike",
        ),
    ] {
        match source {
            Source::Read | Source::Missing(Missing::NotAsked) => {}
            Source::Missing(why) => pen.paragraph(0, &format!("Not read: {without} ({why})."))?,
        }
    }
    pen.paragraph(
        0,
        "hugewise inspect --explain REASON tells the whole story of a reason.",
    )
}
