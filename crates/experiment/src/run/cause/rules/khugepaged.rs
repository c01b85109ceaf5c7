//! The run was too short for khugepaged to make its memory huge.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{Kind, Outcome};
use crate::run::metric::MetricId;

/// The pace of khugepaged beside a run.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct KhugepagedHadNoTime {
    /// Memory that khugepaged may take: anonymous memory, or all when that was not read. In bytes.
    pub memory_bytes: f64,
    /// Returns true for anonymous memory.
    pub is_anonymous: bool,
    /// Bytes of it that were huge.
    pub huge_bytes: f64,
    /// Bytes a second that it scans at most.
    pub bytes_per_second: f64,
    /// Seconds that it needs at least.
    pub needed_seconds: f64,
    /// Seconds that the program, or the load of a service, took.
    pub run_seconds: f64,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    let is_allowed = view.context.mode(view.arm) == "always";
    let peak = view
        .here(MetricId::PeakRssBytes)
        .ok()
        .filter(|_| is_allowed);
    let (Some(pace), Some(all)) = (pace(view), peak) else {
        return Ok(None);
    };
    // Shared memory and files have settings of their own.
    let anonymous = view
        .here(MetricId::AnonPeakBytes)
        .ok()
        .filter(|it| *it < all);
    let peak = anonymous.unwrap_or(all);
    let seen = view.here(MetricId::HugeAnonPeakBytes)?;
    let huge_page = view.context.host().pmd_bytes().unwrap_or(u64::MAX) as f64;
    // A page that lived between two samples was still counted when it was made, perhaps by others.
    let made = view.here(MetricId::ThpFaultAllocTotal).unwrap_or(0.0) * huge_page;
    let is_mostly_huge = peak < huge_page || seen.max(made) * 2.0 >= peak;
    if is_mostly_huge || view.here(MetricId::ThpCollapseAllocTotal)? > 0.0 {
        return Ok(None);
    }
    let found = KhugepagedHadNoTime {
        memory_bytes: peak,
        is_anonymous: anonymous.is_some(),
        huge_bytes: seen,
        bytes_per_second: pace,
        needed_seconds: peak / pace,
        run_seconds: view.here(MetricId::WallSeconds)?,
    };
    let outcome = Outcome::shown_if(found.needed_seconds > found.run_seconds);
    Ok(Some((outcome, Kind::KhugepagedHadNoTime(found))))
}

/// Returns the bytes a second that khugepaged scans at most; `None` when it need not sleep, or its settings are not known.
fn pace(view: &View<'_, '_>) -> Option<f64> {
    let setting = |name| view.context.khugepaged(view.arm, name);
    let pages = setting("pages_to_scan")?;
    let sleep = setting("scan_sleep_millisecs").filter(|&sleep| sleep > 0)?;
    let host = view.context.host();
    host.thp.as_ref().ok()?;
    Some(pages as f64 * host.page_bytes as f64 * 1e3 / sleep as f64)
}
