//! The amount of a program's memory in huge pages.

use crate::run::metric::{Counter, MetricId};

/// Samples may miss a single huge page. It counts anyway if it makes up this share of the program's memory.
pub const A_GOOD_PART: f64 = 0.1;

/// Memory in huge pages, in bytes: from samples or from huge faults, because a sample misses memory that lived between
/// two samples. Faults are counted for the whole machine. So they count only for a program that had huge pages in a
/// sample or could not be sampled, and at most up to its memory. `read` gives a metric of one policy; `None` if nothing
/// was read.
#[must_use]
pub fn huge_memory(
    mut read: impl FnMut(MetricId) -> Option<f64>,
    huge_page_bytes: f64,
) -> Option<f64> {
    let seen = seen_huge_bytes(&mut read);
    let faulted =
        read(MetricId::Counter(Counter::ThpFaultAlloc)).map(|faults| faults * huge_page_bytes);
    let peak = read(MetricId::PeakRssBytes);
    let is_own = |bytes: &f64| seen != Some(0.0) && peak.is_none_or(|peak| *bytes <= peak);
    seen.into_iter()
        .chain(faulted.filter(is_own))
        .max_by(f64::total_cmp)
}

/// The most memory in huge pages in any sample or in the final reading, in bytes; `None` if none could be taken.
pub(super) fn seen_huge_bytes(read: impl FnMut(MetricId) -> Option<f64>) -> Option<f64> {
    let seen = [MetricId::HugeAnonPeakBytes, MetricId::HugeAnonExitBytes].map(read);
    seen.into_iter().flatten().max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1024.0 * 1024.0;

    fn of(sampled: Option<f64>, at_exit: Option<f64>, faults: f64) -> Option<f64> {
        let read = |metric| match metric {
            MetricId::HugeAnonPeakBytes => sampled.map(|bytes| bytes * MIB),
            MetricId::HugeAnonExitBytes => at_exit.map(|bytes| bytes * MIB),
            MetricId::Counter(Counter::ThpFaultAlloc) => Some(faults),
            MetricId::PeakRssBytes => Some(171.0 * MIB),
            _ => None,
        };
        huge_memory(read, 2.0 * MIB).map(|bytes| bytes / MIB)
    }

    #[test]
    fn faults_tell_what_samples_missed() {
        assert_eq!(of(Some(63.0), None, 73.0), Some(146.0));
        assert_eq!(of(Some(0.0), Some(100.0), 73.0), Some(146.0));
        assert_eq!(of(None, None, 73.0), Some(146.0));
    }

    #[test]
    fn faults_of_others_are_not_the_programs() {
        assert_eq!(of(Some(0.0), Some(0.0), 47.0), Some(0.0), "seen with none");
        assert_eq!(of(Some(0.0), None, 47.0), Some(0.0), "seen with none");
        assert_eq!(of(Some(63.0), None, 100.0), Some(63.0), "more than it had");
    }
}
