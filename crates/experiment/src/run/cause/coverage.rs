//! Huge memory of all kinds, under an arm and under the baseline.

use super::Pair;
use super::context::{MissingInput, View};
use crate::run::metric::{Counter, MetricId};

/// The kinds of huge memory measured as peak bytes.
const KINDS: [MetricId; 4] = [
    MetricId::HugeAnonPeakBytes,
    MetricId::HugeFilePeakBytes,
    MetricId::HugeShmemPeakBytes,
    MetricId::HugetlbPeakBytes,
];

/// Returns the bytes of each kind. Anonymous memory must have been read; another kind without a reading is left out.
fn kinds(view: &View<'_, '_>) -> Result<Vec<Pair>, MissingInput> {
    view.both(KINDS[0])?;
    let kinds = KINDS.into_iter().filter_map(|kind| view.both(kind).ok());
    Ok(kinds.collect())
}

/// Returns the huge bytes at the peak, all kinds together.
pub(super) fn huge_bytes(view: &View<'_, '_>) -> Result<Pair, MissingInput> {
    let kinds = kinds(view)?;
    Ok(Pair {
        baseline: kinds.iter().map(|it| it.baseline).sum(),
        arm: kinds.iter().map(|it| it.arm).sum(),
    })
}

/// Returns true if more memory is huge than under the baseline, by the bytes of a kind or by the number of created huge
/// pages.
///
/// Sampling may miss the peak slightly: a difference of one huge page, or 1 % of peak memory, counts as equal.
pub(super) fn is_more_huge(view: &View<'_, '_>) -> Result<bool, MissingInput> {
    let huge_page = view.context.host().pmd_bytes().unwrap_or(0) as f64;
    let peak = view.both(MetricId::PeakRssBytes);
    let peak = peak.map_or(0.0, |it| it.baseline.max(it.arm));
    let differs = |bytes: f64| bytes.abs() > huge_page.max(0.01 * peak);
    // A page that came and went between two samples was still counted when it was created.
    let made = view.both(MetricId::Counter(Counter::ThpFaultAlloc));
    let is_other = made.is_ok_and(|it| differs(it.change() * huge_page))
        || kinds(view)?.iter().any(|it| differs(it.change()));
    Ok(huge_bytes(view)?.change() > 0.0 && is_other)
}
