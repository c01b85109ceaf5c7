//! Claims that memory which processes share after a fork was copied under writes, and what that
//! cost its huge pages.
//!
//! Evidence: anonymous memory that several processes of the tree shared, how much less of it they
//! shared while no process came or went, and more huge mappings split than under the baseline. A
//! write to a huge page that two processes share splits its mapping and copies one small page
//! (do_huge_pmd_wp_page, mm/huge_memory.c; Linux 5.8, before that the whole huge page was copied).
//! Refuted when the splits go on without a fork: munmap, mprotect and MADV_DONTNEED of a part
//! split too. Next: what the program says of its fork; the same with fewer writes meanwhile.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;
use crate::text::number::percent;

/// See the module.
#[derive(Debug)]
pub(super) struct CopyOnWriteAfterFork;

const SHARED: MetricId = MetricId::ForkSharedPeakBytes;
const COPIED: MetricId = MetricId::ForkCopiedBytes;
const SPLITS: MetricId = MetricId::ThpSplitPmdTotal;
const STALLED: MetricId = MetricId::CopyOnWriteSeconds;

impl Rule for CopyOnWriteAfterFork {
    fn id(&self) -> &'static str {
        "copy-on-write-after-fork"
    }

    fn explain(&self) -> &'static str {
        "Claims that huge pages which processes shared after a fork were taken apart by writes. \
         Evidence: anonymous memory that several processes of the tree shared, how much of it was \
         seen to be copied while no process came or went, and more huge mappings split than under \
         the baseline. A write to a shared huge page splits its mapping and copies one small page \
         (Linux 5.8; before, the whole huge page). Refuted when as many are split without a fork: \
         munmap, mprotect and MADV_DONTNEED of a part do that too. Next: the time of the fork, \
         which huge pages make shorter, as the program tells it (--metric); a snapshot while less \
         is written; thp=never for a program whose pauses after the fork count most."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let huge_page = look.ground.host().pmd_bytes().unwrap_or(u64::MAX) as f64;
    // Where no sharing was seen, or could be, there is no question.
    let shared = look.median_or_missing(SHARED).unwrap_or(0.0);
    if shared < huge_page || look.here(MetricId::HugeAnonPeakBytes)? < huge_page {
        return Ok(Said::Nothing);
    }
    look.noted(SHARED, shared);
    let copying = copying(look, shared);
    let lead = format!(
        "{}: processes shared {}, as after a fork{copying}",
        look.policy,
        told(SHARED, shared),
    );
    let (there, here) = look.both(SPLITS)?;
    let splits = format!(
        "{} huge mappings were split on the machine, {} under {}",
        told(SPLITS, here),
        told(SPLITS, there),
        look.ground.baseline()
    );
    Ok(match look.change_by_itself(SPLITS) {
        Some(Change::Higher) => Said::Shown(format!(
            "{lead}; {splits}: a write to a huge page that is shared splits its mapping, so that \
             what was huge is small afterwards"
        )),
        Some(Change::CannotTell) | None => Said::CannotTell(format!(
            "{lead}; {splits}: whether its writes split them cannot be told yet"
        )),
        Some(Change::NoDifference | Change::Lower) => Said::NotShown(format!(
            "{lead}; {splits}: its huge pages were not what was written to, or were copied whole \
             (Linux before 5.8)"
        )),
    })
}

/// How much was copied, where samples saw it, and how long that took, where it was timed.
fn copying(look: &mut Look<'_, '_>, shared: f64) -> String {
    let Ok(copied) = look.here(COPIED) else {
        return String::new();
    };
    look.evidence.figure("copied_share", copied / shared);
    let baseline = look.ground.baseline();
    let there = match look.there(COPIED) {
        Ok(there) if there > 0.0 => format!(", {} under {baseline}", told(COPIED, there)),
        _ => String::new(),
    };
    let stalled = match look.both(STALLED) {
        Ok((there, here)) => format!(
            ", in faults of {} instead of {}",
            told(STALLED, here),
            told(STALLED, there)
        ),
        Err(_) => String::new(),
    };
    format!(
        ", and at least {} of it ({} %) was copied under writes{there}{stalled}",
        told(COPIED, copied),
        percent(copied / shared)
    )
}
