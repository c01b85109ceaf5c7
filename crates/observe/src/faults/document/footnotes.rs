//! Footnotes: unknown values, and the cost of measuring.

use crate::faults::event::{Known, Modes};
use crate::faults::sentences::{duration, share};
use crate::faults::summary::FaultSummary;
use hugewise_base::units::bytes_text;
use hugewise_text::number::count;

/// Returns the unknown values, and the cost of the measurement.
pub(super) fn footnotes(summary: &FaultSummary) -> Vec<String> {
    let mut notes = not_told_apart(summary);
    notes.extend(chain_notes(summary));
    notes.push(format!(
        "Each latency includes the writing of one event. Tracing took {} of CPU time.",
        duration(summary.closing.own_cpu_ns)
    ));
    notes
}

/// Which kinds of faults and page sizes share one count, and why.
fn not_told_apart(summary: &FaultSummary) -> Vec<String> {
    let conditions = &summary.conditions;
    let mut notes = Vec::new();
    if conditions.modes == Modes::User {
        notes.push(
            "Without CAP_PERFMON: faults in kernel mode are missing, and zero pages count as \
             pages."
                .to_owned(),
        );
    }
    if let Known::No(missing) = &conditions.page_size {
        notes.push(format!(
            "Huge and small pages count as one kind: {missing}."
        ));
    }
    if let (Modes::All, Known::No(missing)) = (conditions.modes, &conditions.huge_zero) {
        notes.push(format!("Huge zero pages count as huge pages: {missing}."));
    }
    notes.extend(folio_notes(summary));
    notes
}

fn folio_notes(summary: &FaultSummary) -> Vec<String> {
    let conditions = &summary.conditions;
    let mut notes = Vec::new();
    if let Known::No(missing) = &conditions.folios {
        let sizes = conditions.folio_sizes.iter();
        let sizes: Vec<String> = sizes.map(|bytes| bytes_text(*bytes)).collect();
        notes.push(format!(
            "Folios ({}) are enabled and count as pages: {missing}.",
            sizes.join(", ")
        ));
    }
    if summary.folios_missed > 0 {
        notes.push(format!(
            "{} small faults count as pages: their memory was freed before its folio size was \
             read.",
            count(summary.folios_missed)
        ));
    }
    notes
}

fn chain_notes(summary: &FaultSummary) -> Vec<String> {
    let mut notes = Vec::new();
    if summary.chains < summary.total.faults {
        notes.push(format!(
            "Call sites are estimated from {} of {} faults: of all at first, then of one in many.",
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
