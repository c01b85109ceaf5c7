//! What stands below the tables.

use crate::observe::faults::event::{Known, Modes};
use crate::observe::faults::kind::size;
use crate::observe::faults::sentences::{count, duration, share};
use crate::observe::faults::summary::Summary;

/// What could not be known, and what the measuring itself costs.
pub(super) fn footnotes(summary: &Summary) -> Vec<String> {
    let mut notes = not_told_apart(summary);
    notes.extend(chain_notes(summary));
    notes.push(format!(
        "Each latency includes the writing of one event. Watching took {} of processor time \
         besides.",
        duration(summary.closing.own_cpu_ns)
    ));
    notes
}

/// Which faults, and which sizes of pages, one count holds together, and why.
fn not_told_apart(summary: &Summary) -> Vec<String> {
    let conditions = &summary.conditions;
    let mut notes = Vec::new();
    if conditions.modes == Modes::User {
        notes.push(
            "Faults in kernel mode were not seen, and zero pages not told apart: that needs \
             CAP_PERFMON."
                .to_owned(),
        );
    }
    if let Known::No(missing) = &conditions.page_size {
        notes.push(format!(
            "Huge pages were not told from small ones: {missing}."
        ));
    }
    if let (Modes::All, Known::No(missing)) = (conditions.modes, &conditions.huge_zero) {
        notes.push(format!(
            "The huge zero page was not told from huge pages: {missing}."
        ));
    }
    notes.extend(folio_notes(summary));
    notes
}

fn folio_notes(summary: &Summary) -> Vec<String> {
    let conditions = &summary.conditions;
    let mut notes = Vec::new();
    if let Known::No(missing) = &conditions.folios {
        let sizes = conditions.folio_sizes.iter();
        let sizes: Vec<String> = sizes.map(|bytes| size(*bytes)).collect();
        notes.push(format!(
            "Folios of {} are switched on, and were not told from pages: {missing}.",
            sizes.join(", ")
        ));
    }
    if summary.folios_missed > 0 {
        notes.push(format!(
            "{} small faults count as pages because their memory was gone before its folio could \
             be asked for.",
            count(summary.folios_missed)
        ));
    }
    notes
}

fn chain_notes(summary: &Summary) -> Vec<String> {
    let mut notes = Vec::new();
    if summary.chains < summary.total.faults {
        notes.push(format!(
            "Call chains were taken of {} of {} faults, of all at first and then of one in many; \
             what is said by function is estimated from these.",
            count(summary.chains),
            count(summary.total.faults)
        ));
    }
    if summary.shallow * 5 > summary.total.faults {
        notes.push(format!(
            "{} of the call chains have one frame or none: code without frame pointers.",
            share(summary.shallow, summary.total.faults)
        ));
    }
    notes
}
