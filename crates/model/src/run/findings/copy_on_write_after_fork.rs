//! Claims that memory which processes share after a fork was copied under writes, and what that
//! cost its huge pages.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;
use crate::text::number::percent;

/// The rule of this module.
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

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let huge_page = view.context.host().pmd_bytes().unwrap_or(u64::MAX) as f64;
    // Where no sharing was seen, or could be, there is no question.
    let shared = view.median_or_missing(SHARED).unwrap_or(0.0);
    if shared < huge_page || view.here(MetricId::HugeAnonPeakBytes)? < huge_page {
        return Ok(Claim::Nothing);
    }
    view.noted(SHARED, shared);
    let copying = copying(view, shared);
    let lead = format!("Processes shared up to {}{copying}", told(SHARED, shared),);
    let policy = view.policy;
    let (there, here) = view.both(SPLITS)?;
    let splits = format!(
        "{} huge mappings were split machine-wide, {} under {}",
        told(SPLITS, here),
        told(SPLITS, there),
        view.context.baseline()
    );
    Ok(match view.change(SPLITS) {
        Some(Change::Higher) => Claim::Shown(format!(
            "{policy}: writes after a fork split huge pages. {lead}; {splits}"
        )),
        Some(Change::CannotTell) | None => Claim::CannotTell(format!(
            "{policy}: too few rounds to say whether writes after a fork split huge pages. {lead}; \
             {splits}"
        )),
        Some(Change::NoDifference | Change::Lower) => Claim::NotShown(format!(
            "{policy}: writes after a fork split no huge pages, or copied them whole (Linux before 5.8). \
             {lead}; {splits}"
        )),
    })
}

/// How much was copied, where samples saw it, and how long that took, where it was timed.
fn copying(view: &mut PolicyView<'_, '_>, shared: f64) -> String {
    let Ok(copied) = view.here(COPIED) else {
        return String::new();
    };
    view.evidence.figure("copied_share", copied / shared);
    let baseline = view.context.baseline();
    let there = match view.there(COPIED) {
        Ok(there) if there > 0.0 => format!(", {} under {baseline}", told(COPIED, there)),
        _ => String::new(),
    };
    let stalled = match view.both(STALLED) {
        Ok((there, here)) => format!(
            ", in faults that took {} instead of {}",
            told(STALLED, here),
            told(STALLED, there)
        ),
        Err(_) => String::new(),
    };
    format!(
        ", of which writes copied at least {} ({} %){there}{stalled}",
        told(COPIED, copied),
        percent(copied / shared)
    )
}
