//! The mappings, with the reason of each range.

use std::cmp::Reverse;

use crate::address_space::{Mapping, Space};
use crate::inspect::reasons::{Certainty, Code, Judgement};
use hugewise_base::units::bytes_text;
use hugewise_text::Tone;
use hugewise_text::document::{Field, Level, Paragraph, Section};
use hugewise_text::number::counted;
use hugewise_text::wrap::plain;

use super::document::{needs_evidence, resident_text};
use super::{Glob, Inspection};

/// Returns one section per mapping. Mappings selected by name are not details.
pub(super) fn mappings(inspection: &Inspection, only: Option<&Glob>) -> Vec<Section> {
    let level = only.map_or(Level::Detail, |_| Level::First);
    let places = picked(&inspection.space, only);
    if places.is_empty() && only.is_some() {
        return vec![Section::default().with("No mapping has such a name or address.")];
    }
    let section = |place: usize| {
        let mut section = Section::default();
        for paragraph in mapping(inspection, place) {
            section.blocks.push((level, paragraph.into()));
        }
        section
    };
    let mut fixes = Section::titled("To make it huge");
    fixes
        .blocks
        .push((level, fields(inspection, &places).into()));
    let mappings = places.into_iter().map(section);
    std::iter::once(fixes).chain(mappings).collect()
}

/// Returns each fix once, with its reason and all memory that it applies to, largest first.
fn fields(inspection: &Inspection, places: &[usize]) -> Vec<Field> {
    let mut fixes: Vec<(Code, &str, u64, Option<u64>)> = Vec::new();
    let shown = places
        .iter()
        .flat_map(|&place| inspection.of_mapping(place));
    for one in shown.filter(|one| needs_evidence(one.code, &one.certainty)) {
        let Some(text) = &one.repair else { continue };
        let bytes = one.resident_bytes;
        let same = |fix: &&mut (Code, &str, u64, Option<u64>)| (fix.0, fix.1) == (one.code, text);
        match fixes.iter_mut().find(same) {
            Some(fix) => {
                let sum = fix.3.zip(bytes).map(|(ours, theirs)| ours + theirs);
                (fix.2, fix.3) = (fix.2 + one.ranges, sum);
            }
            None => fixes.push((one.code, text, one.ranges, bytes)),
        }
    }
    fixes.sort_by_key(|fix| Reverse(fix.3));
    let field = |(code, text, ranges, bytes): (Code, &str, u64, Option<u64>)| {
        let memory = format!("{}, {}", counted(ranges, "range"), resident_text(bytes));
        Field::new(code.name(), format!("{memory}: {text}"))
    };
    fixes.into_iter().map(field).collect()
}

/// Returns the indices of the selected mappings, in ascending order.
pub(super) fn picked(space: &Space, only: Option<&Glob>) -> Vec<usize> {
    let fits = |mapping: &Mapping| only.is_none_or(|glob| glob.matches(mapping));
    let all = 0..space.mappings.len();
    all.filter(|&place| fits(&space.mappings[place])).collect()
}

fn mapping(inspection: &Inspection, place: usize) -> Vec<Paragraph> {
    let mapping = &inspection.space.mappings[place];
    let resident = mapping.memory.as_ref().map_or_else(
        || "?".to_owned(),
        |memory| bytes_text(memory.resident + memory.hugetlb),
    );
    let advice = mapping.flags().first_of(&["hg", "nh"]);
    let heading = format!(
        "{:x}-{:x} {} {} of {} {} {}",
        mapping.start,
        mapping.end,
        String::from(mapping.permissions),
        resident,
        bytes_text(mapping.bytes()),
        advice.unwrap_or(""),
        name(mapping)
    );
    let heading = Paragraph::new(heading).tone(Tone::Strong).hang(2);
    let judgements = inspection.of_mapping(place).iter().flat_map(judgement);
    std::iter::once(heading).chain(judgements).collect()
}

fn judgement(one: &Judgement) -> Vec<Paragraph> {
    let lead = format!(
        "{:x} {}{}: {}{}",
        one.start,
        counted(one.ranges, "range"),
        resident(one),
        one.code,
        certainty(&one.certainty)
    );
    let mut paragraphs = vec![Paragraph::new(lead).indent(2).hang(2)];
    if needs_evidence(one.code, &one.certainty) {
        paragraphs.extend(why(one).map(|text| Paragraph::new(text).indent(6)));
    }
    paragraphs
}

fn resident(one: &Judgement) -> String {
    match one.resident_bytes {
        Some(0) => String::new(),
        Some(bytes) => format!(", {}", bytes_text(bytes)),
        None => ", ?".to_owned(),
    }
}

fn certainty(certainty: &Certainty) -> String {
    match certainty {
        Certainty::Proved => String::new(),
        Certainty::OneOf(codes) => {
            let names: Vec<&str> = codes.iter().map(|code| code.name()).collect();
            format!(" (one of {})", names.join(", "))
        }
        Certainty::Unknown => " (unknown)".to_owned(),
    }
}

/// Returns the evidence of a judgement, and the obstacle that keeps it so.
pub(super) fn why(one: &Judgement) -> impl Iterator<Item = String> {
    let evidence = Some(one.evidence.join("; ")).filter(|text| !text.is_empty());
    let still = one.still.as_ref().map(|still| {
        let others = match &still.certainty {
            Certainty::OneOf(codes) if codes.len() > 1 => certainty(&still.certainty),
            _ => String::new(),
        };
        let evidence = still.evidence.join("; ");
        format!("still small: {}{others}: {evidence}", still.code)
    });
    [evidence, still].into_iter().flatten()
}

/// Returns the name of a mapping as displayed.
pub(super) fn name(mapping: &Mapping) -> String {
    if mapping.name.is_empty() {
        "anonymous".to_owned()
    } else {
        plain(&mapping.name)
    }
}
