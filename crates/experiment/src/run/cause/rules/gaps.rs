//! khugepaged made resident what a program never touched, or had given back.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{Kind, Outcome, Pair};
use crate::run::metric::MetricId;

/// Memory that khugepaged may have filled.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct FilledGaps {
    /// Huge pages that khugepaged made, machine-wide.
    pub collapsed: f64,
    /// Empty pages that it may fill in one huge page; `None` when that is not known.
    pub max_ptes_none: Option<u64>,
    /// Peak memory, in bytes.
    pub peak_bytes: Option<Pair>,
    /// Huge pages made at faults, machine-wide.
    pub huge_faults: Option<Pair>,
    /// Why it cannot be told.
    pub doubt: Option<GapsDoubt>,
}

/// Why growth cannot be put down to khugepaged.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum GapsDoubt {
    /// `max_ptes_none` is not known.
    UnknownSetting,
    /// Peak memory rose by more than khugepaged can have filled.
    Beyond,
    /// Huge pages made at faults could also explain it.
    HugeFaults,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    // If khugepaged made nothing, or that was not read, there is no question.
    let collapsed = view.here(MetricId::KhugepagedCollapsedTotal).unwrap_or(0.0);
    let (Some(huge_page), true) = (view.context.host().pmd_bytes(), collapsed > 0.0) else {
        return Ok(None);
    };
    let mut found = FilledGaps {
        collapsed,
        max_ptes_none: view.context.khugepaged(view.arm, "max_ptes_none"),
        peak_bytes: None,
        huge_faults: None,
        doubt: None,
    };
    let told = |outcome, found| Ok(Some((outcome, Kind::KhugepagedFilledGaps(found))));
    let Some(gaps) = found.max_ptes_none else {
        found.doubt = Some(GapsDoubt::UnknownSetting);
        return told(Outcome::CannotTell, found);
    };
    let peak = view.both(MetricId::PeakRssBytes)?;
    found.peak_bytes = Some(peak);
    if gaps == 0 || !view.rose(MetricId::PeakRssBytes) {
        return told(Outcome::NotShown, found);
    }
    let faults = view.both(MetricId::ThpFaultAllocTotal)?;
    found.huge_faults = Some(faults);
    let huge_page = huge_page as f64;
    found.doubt = match peak.change() {
        // The rest of the program is not of one size either.
        growth if (collapsed + 1.0) * huge_page < growth => Some(GapsDoubt::Beyond),
        growth if faults.change() * huge_page >= growth => Some(GapsDoubt::HugeFaults),
        _ => None,
    };
    match found.doubt {
        Some(_) => told(Outcome::CannotTell, found),
        None => told(Outcome::Shown, found),
    }
}
