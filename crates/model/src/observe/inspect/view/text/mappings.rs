//! The mappings, each with the reason of every range.

use std::fmt::{self, Write};

use super::{Pen, counted};
use crate::base::units::bytes_text;
use crate::observe::address_space::{Mapping, Space};
use crate::observe::inspect::reasons::{Certainty, Code, Judgement};
use crate::observe::inspect::view::{Glob, Inspection, is_small};
use crate::text::Verbosity;
use crate::text::wrap::{plain, shortened, wrapped};

/// Mappings shown unless all are asked for.
const MOST: usize = 12;

/// Large mappings one by one; those that cover no whole range together, for they all have the
/// same reason.
pub(super) fn mappings<W: Write>(
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
pub(in crate::observe::inspect::view) fn shown(
    space: &Space,
    only: Option<&Glob>,
    verbose: Verbosity,
) -> Vec<usize> {
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
    let lead = format!(
        "{:x}  {}{}: {}{}",
        one.start,
        counted(one.ranges, "range"),
        held(one),
        one.code,
        certainty(&one.certainty)
    );
    for (place, line) in wrapped(&lead, pen.width - 4, 2).iter().enumerate() {
        let indent = if place == 0 { "  " } else { "    " };
        pen.line(&format!("{indent}{line}"))?;
    }
    let proved = one.certainty == Certainty::Proved;
    if !is_small(one.code) && one.code != Code::HugeZero && proved {
        return Ok(());
    }
    why(one, pen)
}

fn held(one: &Judgement) -> String {
    match one.resident_bytes {
        Some(0) => String::new(),
        Some(bytes) => format!(", {}", bytes_text(bytes)),
        None => ", ?".to_owned(),
    }
}

fn certainty(certainty: &Certainty) -> String {
    match certainty {
        Certainty::Proved => String::new(),
        Certainty::OneOf(codes) => format!(" (one of {})", names(codes)),
        Certainty::Unknown => " (unknown)".to_owned(),
    }
}

/// The evidence of a judgement, what keeps it so, and what would repair it.
fn why<W: Write>(one: &Judgement, pen: &mut Pen<'_, W>) -> fmt::Result {
    if !one.evidence.is_empty() {
        pen.paragraph(6, &one.evidence.join("; "))?;
    }
    if let Some(still) = &one.still {
        let of = match &still.certainty {
            Certainty::OneOf(codes) if codes.len() > 1 => certainty(&still.certainty),
            _ => String::new(),
        };
        let evidence = still.evidence.join("; ");
        pen.paragraph(6, &format!("still so: {}{of}: {evidence}", still.code))?;
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
pub(in crate::observe::inspect::view) fn name(mapping: &Mapping) -> String {
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
