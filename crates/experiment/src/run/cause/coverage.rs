//! Huge memory by kind, under an arm and under the baseline.

use super::Pair;
use super::context::{MissingInput, View};
use crate::run::metric::MetricId;

/// The kinds of huge memory that are measured as bytes at their peak; anonymous memory first.
const KINDS: [MetricId; 4] = [
    MetricId::HugeAnonPeakBytes,
    MetricId::HugeFilePeakBytes,
    MetricId::HugeShmemPeakBytes,
    MetricId::HugetlbPeakBytes,
];

/// Memory in huge pages.
pub(super) struct Coverage {
    /// Bytes at the peak, all kinds together.
    pub(super) bytes: Pair,
    /// Huge pages made at faults, by anybody on the machine.
    pub(super) faults: Option<Pair>,
    /// Returns true when no kind differs, and as many huge pages were made.
    pub(super) is_equal: bool,
}

/// Compares the huge bytes of an arm with those of the baseline.
///
/// Anonymous memory must have been read; another kind that was not read is left out. Sampling may miss the peak by a
/// little: one huge page, or 1 % of peak memory, is equal.
pub(super) fn compare(view: &View<'_, '_>) -> Result<Coverage, MissingInput> {
    let huge_page = view.context.host().pmd_bytes().unwrap_or(0) as f64;
    let peak = view.both(MetricId::PeakRssBytes);
    let peak = peak.map_or(0.0, |it| it.baseline.max(it.arm));
    let allowed = huge_page.max(0.01 * peak);
    let faults = view.both(MetricId::ThpFaultAllocTotal).ok();
    // A page that came and went between two samples was still counted when it was made.
    let mut is_equal = faults.is_none_or(|it| it.change().abs() * huge_page <= allowed);
    let mut bytes = view.both(KINDS[0])?;
    is_equal &= bytes.change().abs() <= allowed;
    for kind in KINDS.into_iter().skip(1) {
        let Ok(both) = view.both(kind) else { continue };
        is_equal &= both.change().abs() <= allowed;
        bytes.baseline += both.baseline;
        bytes.arm += both.arm;
    }
    Ok(Coverage {
        bytes,
        faults,
        is_equal,
    })
}
