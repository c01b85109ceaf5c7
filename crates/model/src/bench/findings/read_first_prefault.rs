//! Claims that bringing memory in by reading it leaves small pages where writing gives huge ones.

use super::cells::{huge_share, of_suite, percent};
use crate::run::findings::ground::{Absent, Ground, Look, Said};
use crate::run::findings::{Finding, Rule};

/// The rule of this module.
#[derive(Debug)]
pub(super) struct ReadFirstPrefault;

impl Rule for ReadFirstPrefault {
    fn id(&self) -> &'static str {
        "read-first-prefault"
    }

    fn explain(&self) -> &'static str {
        "Claims that bringing memory in by reading it leaves small pages where writing it gives huge \
         ones. Evidence: what lies under memory that was read first, once it is written, beside \
         the same by a store. A read maps the huge zero page; from Linux 5.8 to 6.12 the write \
         splits that mapping for good. Refuted where it is huge after the write. Next: prefault by \
         a store or MADV_POPULATE_WRITE."
    }

    fn explains_programs(&self) -> bool {
        false
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_all(self, ask)
    }
}

/// The methods that read a page before they write it, or only read it.
const READING: [&str; 4] = ["load", "load-store", "atomic-add", "populate-read"];

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let Some(bench) = of_suite(look.ground, "prefault") else {
        return Ok(Said::Nothing);
    };
    let share = |look: &Look<'_, '_>, method: &str| {
        let cells = bench.cells.iter();
        let mut shares = cells
            .filter(|cell| cell.part(0) == Some(method))
            .filter_map(|cell| huge_share(look, cell, "written"));
        shares.next()
    };
    let Some(stored) = share(look, "store").filter(|&share| share >= 0.9) else {
        return Ok(Said::Nothing);
    };
    let reading = READING.iter();
    let read: Vec<(&str, f64)> = reading
        .filter_map(|method| Some((*method, share(look, method)?)))
        .collect();
    for (method, share) in [("store", stored)].iter().chain(&read) {
        look.evidence
            .figure(&format!("{method}_huge_ratio"), *share);
    }
    let Some((worst, least)) = read.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Ok(Said::Nothing);
    };
    let policy = look.policy;
    let text = format!(
        "By {worst} {} of the memory was huge after the write, by store {}",
        percent(*least),
        percent(stored)
    );
    Ok(if *least < 0.5 {
        Said::Shown(format!(
            "{policy}: prefaulting by reads leaves small pages on this kernel. {text}; a read maps the huge \
             zero page, and a later write splits it"
        ))
    } else {
        Said::NotShown(format!(
            "{policy}: prefaulting by reads costs no huge pages on this kernel. {text}"
        ))
    })
}
