//! For a terminal: the process, its memory by kind, the reasons in short, then the mappings
//! with the reason of every range.

use std::fmt::{self, Write};

use crate::observation::Missing;
use crate::quantity::bytes_text;
use crate::reason::{Certainty, Code, Judgement};
use crate::report::lines::{plain, shortened, wrapped};
use crate::report::{Style, Verbosity};
use crate::space::{Mapping, Process, Sort, Source, Space, WordSize};

use super::{Glob, Inspection, is_small};

/// Mappings shown unless all are asked for.
const MOST: usize = 12;

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

fn kinds<W: Write>(inspection: &Inspection, pen: &mut Pen<'_, W>) -> fmt::Result {
    let summary = &inspection.summary;
    pen.line("")?;
    let huge = bytes_text(inspection.space.huge_bytes);
    let small = bytes_text(inspection.space.page_bytes);
    row(
        pen,
        "huge, anonymous",
        summary.huge_anonymous,
        "AnonHugePages",
    )?;
    for (label, bytes, note) in [
        (
            "huge, shared memory",
            summary.huge_shmem,
            "ShmemPmdMapped".to_owned(),
        ),
        ("huge, file", summary.huge_file, "FilePmdMapped".to_owned()),
        (
            "explicit huge pages",
            summary.hugetlb,
            "hugetlb; not in resident".to_owned(),
        ),
        (
            "huge zero page",
            summary.huge_zero,
            format!("{huge} shared by all; no memory"),
        ),
        (
            "small zero pages",
            summary.small_zero,
            format!("{small} shared by all; no memory"),
        ),
        ("in swap", summary.swap, String::new()),
    ] {
        if bytes != Some(0) {
            row(pen, label, bytes, &note)?;
        }
    }
    for folio in summary.folios.iter().flatten() {
        if folio.folio > inspection.space.page_bytes {
            let label = format!("in {} folios", bytes_text(folio.folio));
            row(pen, &label, Some(folio.bytes), "mapped by small entries")?;
        }
    }
    row(
        pen,
        "could be huge",
        summary.could_be_huge,
        "by all settings, and is small",
    )?;
    let (advised, against) = summary.advised;
    if advised + against > 0 {
        pen.line(&format!(
            "  {:<22}{} for huge pages (hg), {} against (nh)",
            "advice",
            counted(advised, "mapping"),
            counted(against, "mapping")
        ))?;
    }
    Ok(())
}

fn row<W: Write>(pen: &mut Pen<'_, W>, label: &str, bytes: Option<u64>, note: &str) -> fmt::Result {
    let bytes = bytes.map_or_else(|| "not read".to_owned(), bytes_text);
    pen.line(&format!("  {label:<20} {bytes:>10}   {note}"))
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

/// Large mappings one by one; those that cover no whole range together, for they all have the
/// same reason.
fn mappings<W: Write>(
    inspection: &Inspection,
    only: Option<&Glob>,
    verbose: Verbosity,
    pen: &mut Pen<'_, W>,
) -> fmt::Result {
    let places = shown(&inspection.space, only, verbose);
    if places.is_empty() && only.is_some() {
        pen.line("")?;
        return pen.line("No mapping has such a name or address.");
    }
    for place in &places {
        mapping(inspection, *place, pen)?;
    }
    let left = inspection.space.mappings.len() - places.len();
    if left > 0 && only.is_none() {
        pen.line("")?;
        pen.paragraph(
            0,
            &format!(
                "{} smaller or emptier: --verbose shows all.",
                counted(left as u64, "mapping")
            ),
        )?;
    }
    Ok(())
}

/// The places of the mappings that are shown, in rising order.
pub(super) fn shown(space: &Space, only: Option<&Glob>, verbose: Verbosity) -> Vec<usize> {
    let all = verbose == Verbosity::Verbose || only.is_some();
    let picked = |mapping: &Mapping| only.is_none_or(|glob| glob.matches(mapping));
    let shown = |mapping: &Mapping| {
        picked(mapping) && (all || mapping.whole_ranges(space.huge_bytes).is_some())
    };
    let mut places: Vec<usize> = (0..space.mappings.len())
        .filter(|&place| shown(&space.mappings[place]))
        .collect();
    if !all {
        places.sort_by_key(|&place| std::cmp::Reverse(weight(&space.mappings[place])));
        places.truncate(MOST);
        places.sort_unstable();
    }
    places
}

/// What a mapping weighs: its memory, then its size.
fn weight(mapping: &Mapping) -> (u64, u64) {
    let resident = mapping
        .memory
        .as_ref()
        .map_or(0, |memory| memory.resident + memory.hugetlb);
    (resident, mapping.bytes())
}

fn mapping<W: Write>(inspection: &Inspection, place: usize, pen: &mut Pen<'_, W>) -> fmt::Result {
    let mapping = &inspection.space.mappings[place];
    let resident = mapping.memory.as_ref().map_or_else(
        || "?".to_owned(),
        |memory| bytes_text(memory.resident + memory.hugetlb),
    );
    let advice = mapping.flags().first_of(&["hg", "nh"]).unwrap_or("");
    let lead = format!(
        "{:x}-{:x} {} {} of {} {advice}",
        mapping.start,
        mapping.end,
        String::from(mapping.permissions),
        resident,
        bytes_text(mapping.bytes()),
    );
    let lead = lead.trim_end();
    let room = pen.width.saturating_sub(lead.chars().count() + 2).max(12);
    pen.line("")?;
    pen.line(&format!("{lead}  {}", tail(&name(mapping), room)))?;
    let judgements = inspection.of_mapping(place);
    judgements.iter().try_for_each(|one| judgement(one, pen))
}

fn judgement<W: Write>(one: &Judgement, pen: &mut Pen<'_, W>) -> fmt::Result {
    let resident = one
        .resident_bytes
        .map_or_else(|| "?".to_owned(), bytes_text);
    let held = if one.resident_bytes == Some(0) {
        String::new()
    } else {
        format!(", {resident}")
    };
    let lead = format!(
        "  {:x}  {}{held}: {}",
        one.start,
        counted(one.ranges, "range"),
        one.code
    );
    let sure = match &one.certainty {
        Certainty::Proved => String::new(),
        Certainty::OneOf(codes) => format!(" (one of {})", names(codes)),
        Certainty::Unknown => " (unknown)".to_owned(),
    };
    for (place, line) in wrapped(&format!("{}{sure}", lead.trim_start()), pen.width - 4, 2)
        .iter()
        .enumerate()
    {
        let indent = if place == 0 { "  " } else { "    " };
        pen.line(&format!("{indent}{line}"))?;
    }
    let proved = one.certainty == Certainty::Proved;
    if !is_small(one.code) && one.code != Code::HugeZero && proved {
        return Ok(());
    }
    if !one.evidence.is_empty() {
        pen.paragraph(6, &one.evidence.join("; "))?;
    }
    if let Some(still) = &one.still {
        let of = match &still.certainty {
            Certainty::OneOf(codes) if codes.len() > 1 => format!(" (one of {})", names(codes)),
            _ => String::new(),
        };
        let text = format!(
            "still so: {}{of}: {}",
            still.code,
            still.evidence.join("; ")
        );
        pen.paragraph(6, &text)?;
    }
    if let Some(repair) = &one.repair {
        pen.paragraph(6, &format!("repair: {repair}"))?;
    }
    Ok(())
}

fn names(codes: &[Code]) -> String {
    codes
        .iter()
        .map(|code| code.name())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The name of a mapping as it is shown.
pub(super) fn name(mapping: &Mapping) -> String {
    if mapping.name.is_empty() {
        "anonymous".to_owned()
    } else {
        plain(&mapping.name)
    }
}

/// The end of a path says more than its beginning.
fn tail(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    if text.starts_with('/') {
        let end: String = text.chars().skip(length + 1 - width).collect();
        return format!("…{end}");
    }
    shortened(text, width)
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
