//! Memory in huge pages that the program does not use: zero pages, and pages that it gave back.

use hugewise_base::missing::Missing;
use hugewise_base::units::bytes_text;
use hugewise_text::Tone;
use hugewise_text::document::Field;

use crate::address_space::{Estimate, Source};

use super::Inspection;

/// The share of zeros in huge memory from which a remedy is shown.
const WORTH_A_REMEDY: f64 = 0.1;

/// One line for zeros and one for memory given back, each with its remedy if it has one.
pub(super) fn fields(inspection: &Inspection) -> Vec<Field> {
    let mut fields = zeros(inspection);
    fields.extend(given_back(inspection));
    fields
}

fn zeros(inspection: &Inspection) -> Vec<Field> {
    let (space, Some(empty)) = (&inspection.space, inspection.summary.empty_huge) else {
        return Vec::new();
    };
    let Ok(Some(contents)) = space.contents else {
        return Vec::new();
    };
    let whole = contents.pages * space.page_bytes;
    let amount = format!(
        "{} of {} in huge pages hold only zeros",
        shown(&empty),
        bytes_text(whole)
    );
    if (empty.low as f64) < WORTH_A_REMEDY * whole as f64 {
        return vec![Field::new("contents", amount)];
    }
    let reason = "the program wrote nothing to them, or zeros";
    vec![
        Field::new("wasted", format!("{amount}: {reason}")).tone(Tone::Bad),
        Field::new(
            "to spare it",
            "Start it with hugewise exec --policy thp=never -- COMMAND, or have it advise \
             MADV_NOHUGEPAGE there. Linux 6.12 takes such pages back when memory is short, if \
             khugepaged/max_ptes_none is below their number.",
        ),
    ]
}

/// `about 1.0 GiB [0.99 GiB, 1.0 GiB]`; a counted amount has no interval.
fn shown(empty: &Estimate) -> String {
    let [bytes, low, high] = [empty.bytes, empty.low, empty.high].map(bytes_text);
    match empty.low == empty.high {
        true => bytes,
        false => format!("about {bytes} [{low}, {high}]"),
    }
}

fn given_back(inspection: &Inspection) -> Vec<Field> {
    match inspection.summary.held_unmapped {
        Some(bytes) if bytes >= inspection.space.huge_bytes => vec![
            Field::new(
                "held",
                format!(
                    "up to {} more than resident: the rest of huge pages of which the program gave \
                     back a part",
                    bytes_text(bytes)
                ),
            )
            .tone(Tone::Bad),
            Field::new(
                "to free it",
                format!(
                    "The kernel does when memory is short. Before: have the program give back \
                     whole aligned blocks of {}.",
                    bytes_text(inspection.space.huge_bytes)
                ),
            ),
        ],
        _ => Vec::new(),
    }
}

/// Returns a note on each unknown part of the waste, with its reason.
pub(super) fn unknown(inspection: &Inspection) -> Vec<String> {
    let space = &inspection.space;
    let mut notes = Vec::new();
    match &space.contents {
        Ok(_) | Err(Missing::NotAsked) => {}
        Err(why) => notes.push(format!("Not read: which pages hold only zeros ({why}).")),
    }
    let machine = inspection.settings.partly_mapped.filter(|&pages| pages > 0);
    if let (Source::Missing(why), Some(pages)) = (&space.read_with.frames, machine) {
        notes.push(format!(
            "{pages} huge pages of the machine are mapped in part only \
             (nr_anon_partially_mapped); whether of this process is unknown: {why}."
        ));
    }
    notes
}
