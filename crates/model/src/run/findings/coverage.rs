//! How much of a program's memory was huge, by kind, under two policies.

use super::context::{MissingInput, PolicyView, told};
use crate::run::metric::MetricId;

/// The kinds of huge memory that are measured as bytes at their peak.
const KINDS: &[MetricId] = &[
    MetricId::HugeAnonPeakBytes,
    MetricId::HugeFilePeakBytes,
    MetricId::HugeShmemPeakBytes,
    MetricId::HugetlbPeakBytes,
];

/// Huge pages made at faults, by anybody on the machine.
const HUGE_FAULTS: MetricId = MetricId::ThpFaultAllocTotal;

/// How much was huge, in bytes.
pub(super) struct Coverage {
    /// Under the baseline.
    pub(super) there: f64,
    /// Under the policy.
    pub(super) here: f64,
    /// Huge faults of the machine under the baseline and under the policy, where counted.
    faults: Option<(f64, f64)>,
    /// Whether no kind of it differs, and as many huge pages were made.
    pub(super) is_equal: bool,
}

impl Coverage {
    /// How much was huge, as a clause.
    pub(super) fn text(&self, policy: &str, baseline: &str) -> String {
        let amount = |bytes| told(KINDS[0], bytes);
        if self.here == 0.0 && self.there == 0.0 && !self.is_equal {
            let (there, here) = self.faults.unwrap_or_default();
            let count = |faults| told(HUGE_FAULTS, faults);
            return format!(
                "no sample had a huge page, but {} were allocated at fault time under {policy} and {} \
                 under {baseline}, machine-wide",
                count(here),
                count(there)
            );
        }
        if self.here == 0.0 && self.there == 0.0 {
            return format!("no page was huge under {policy} or {baseline}");
        }
        format!(
            "{} was huge under {policy} and {} under {baseline}",
            amount(self.here),
            amount(self.there)
        )
    }
}

/// Compares the huge bytes of a policy with those of the baseline. Anonymous memory must have
/// been read; a kind that was not read under both is left out, and so is no evidence.
///
/// The sampling may miss the peak by a little: one huge page, or 1 % of peak memory, is equal.
pub(super) fn compare(view: &mut PolicyView<'_, '_>) -> Result<Coverage, MissingInput> {
    let huge_page = view.context.host().pmd_bytes().unwrap_or(0) as f64;
    let peak = view
        .both(MetricId::PeakRssBytes)
        .map_or(0.0, |(there, here)| there.max(here));
    let allowed = huge_page.max(0.01 * peak);
    let mut coverage = Coverage {
        there: 0.0,
        here: 0.0,
        faults: view.both(HUGE_FAULTS).ok(),
        is_equal: true,
    };
    // What lived between two samples was still counted when it was made.
    if let Some((there, here)) = coverage.faults {
        coverage.is_equal = (there - here).abs() * huge_page <= allowed;
    }
    for kind in KINDS {
        let (there, here) = match view.both(kind) {
            Ok(values) => values,
            Err(absent) if *kind == KINDS[0] => return Err(absent),
            Err(_) => continue,
        };
        coverage.is_equal &= (there - here).abs() <= allowed;
        coverage.there += there;
        coverage.here += here;
    }
    Ok(coverage)
}
