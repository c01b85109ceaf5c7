//! The mappings, each with the reason of every range.

use crate::base::units::bytes_text;
use crate::observe::address_space::{Mapping, Space};
use crate::observe::inspect::reasons::{Certainty, Judgement};
use crate::text::Tone;
use crate::text::document::{Level, Paragraph, Section};
use crate::text::wrap::plain;

use super::document::{counted, needs_evidence};
use super::{Glob, Inspection};

/// A section for each mapping. Those that are asked for by name are no details.
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
    places.into_iter().map(section).collect()
}

/// The places of the mappings that are meant, in rising order.
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

/// The evidence of a judgement, what keeps it so, and how to fix it.
fn why(one: &Judgement) -> impl Iterator<Item = String> {
    let evidence = Some(one.evidence.join("; ")).filter(|text| !text.is_empty());
    let still = one.still.as_ref().map(|still| {
        let others = match &still.certainty {
            Certainty::OneOf(codes) if codes.len() > 1 => certainty(&still.certainty),
            _ => String::new(),
        };
        let evidence = still.evidence.join("; ");
        format!("still small: {}{others}: {evidence}", still.code)
    });
    let fix = one.repair.as_ref().map(|fix| format!("fix: {fix}"));
    [evidence, still, fix].into_iter().flatten()
}

/// The name of a mapping as it is shown.
pub(super) fn name(mapping: &Mapping) -> String {
    if mapping.name.is_empty() {
        "anonymous".to_owned()
    } else {
        plain(&mapping.name)
    }
}
