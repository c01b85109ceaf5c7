//! The cost of the first touch of memory right before a trial.

use serde::{Deserialize, Serialize};

use super::Trial;
use super::huge_memory::seen_huge_bytes;
use crate::run::metric::{Counter, MetricId};
use crate::run::stats::median;

/// A touch is cold if it takes this many times as long as a warm one.
const COLD: f64 = 4.0;
/// Warm memory takes at most this many times as long as in quiet trials.
const STILL_WARM: f64 = 3.0;
/// Fewer cold pages do not give a reliable price.
const LEAST_COLD_PAGES: u64 = 8;
/// Huge faults are counted for the whole machine. Those beyond so many times the peak are not attributed to the trial.
const MOST_OF_PEAK: f64 = 4.0;

/// Memory touched right before a trial, and the cost of each huge page. Times are processor time, so they exclude
/// preemption.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FirstTouch {
    /// How much was touched.
    pub bytes: u64,
    /// How much would have been touched, with enough free memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted_bytes: Option<u64>,
    /// The part in huge pages.
    pub huge_bytes: u64,
    /// How long it took, on the monotonic clock, with the start and end of the process.
    pub seconds: f64,
    /// Huge pages whose first touch was cold.
    pub cold_pages: u64,
    /// Mean time of a cold touch; `None` without cold pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_touch_seconds: Option<f64>,
    /// Median time of a second touch, of memory freed just before: a warm one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_touch_seconds: Option<f64>,
}

impl FirstTouch {
    /// Classifies the seconds of first touches by the seconds of second ones.
    #[must_use]
    pub fn of(bytes: u64, huge_bytes: u64, first: &[f64], second: &[f64]) -> Self {
        let warm = median(second);
        let cold = |touch: &f64| warm.is_some_and(|warm| *touch > COLD * warm);
        let cold: Vec<f64> = first.iter().copied().filter(cold).collect();
        Self {
            bytes,
            wanted_bytes: None,
            huge_bytes,
            seconds: 0.0,
            cold_pages: cold.len() as u64,
            cold_touch_seconds: (!cold.is_empty())
                .then(|| cold.iter().sum::<f64>() / cold.len() as f64),
            warm_touch_seconds: warm,
        }
    }

    /// Returns true if a sample of huge pages shows that memory was cold. The sample comes from the most recently freed
    /// memory, which is the warmest, so a quarter is enough.
    #[must_use]
    pub fn shows_cold(&self, huge_page_bytes: u64) -> bool {
        let pages = self.bytes / huge_page_bytes.max(1);
        self.cold_pages > 0 && self.cold_pages >= pages / 4
    }

    /// Returns true if the memory was still cold after it had been touched. A warm touch takes `quiet_seconds` in quiet
    /// trials.
    #[must_use]
    pub fn stays_cold(&self, quiet_seconds: f64) -> bool {
        self.warm_touch_seconds
            .is_some_and(|warm| warm > STILL_WARM * quiet_seconds)
    }
}

/// The cost of touching a huge page, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TouchPrice {
    /// If the hypervisor had taken it back.
    pub cold_seconds: f64,
    /// If the host still backed it.
    pub warm_seconds: f64,
}

impl TouchPrice {
    /// The price over all these touches, if enough of them were cold.
    #[must_use]
    pub fn of<'a>(touches: impl IntoIterator<Item = &'a FirstTouch>) -> Option<Self> {
        let (mut pages, mut seconds, mut warm) = (0, 0.0, Vec::new());
        for touch in touches {
            pages += touch.cold_pages;
            seconds += touch.cold_touch_seconds.unwrap_or(0.0) * touch.cold_pages as f64;
            warm.extend(touch.warm_touch_seconds);
        }
        (pages >= LEAST_COLD_PAGES).then_some(Self {
            cold_seconds: seconds / pages as f64,
            warm_seconds: median(&warm)?,
        })
    }
}

impl Trial {
    /// How much memory it took at once, as far as known: the larger of its peak and the memory from its huge faults. If
    /// it was sampled without a huge page, the huge faults belong to other programs. If a server already has its
    /// memory, only the memory from the faults during the load counts.
    #[must_use]
    pub fn taken_bytes(&self, page_bytes: u64, huge_page_bytes: u64) -> u64 {
        let peak = [
            MetricId::PeakRssBytes,
            MetricId::PeakTreeRssBytes,
            MetricId::CgroupPeakBytes,
        ];
        let peak = peak.into_iter().filter_map(|metric| self.value(metric));
        let peak = peak.fold(0.0, f64::max);
        let brought = |faults, bytes| self.value(faults).unwrap_or(0.0) * bytes as f64;
        let huge = match seen_huge_bytes(|metric| self.value(metric)) {
            Some(0.0) => 0.0,
            _ => brought(MetricId::Counter(Counter::ThpFaultAlloc), huge_page_bytes)
                .min(MOST_OF_PEAK * peak),
        };
        let taken = match self.start {
            Some(_) => (brought(MetricId::MinorFaultsTotal, page_bytes) + huge).min(peak),
            None => peak.max(huge),
        };
        taken as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touches_are_sorted_by_what_a_warm_one_takes() {
        let touch = FirstTouch::of(8, 4, &[0.005, 0.0002, 0.007, 0.0007], &[0.0002; 3]);
        assert_eq!(
            (touch.cold_pages, touch.warm_touch_seconds),
            (2, Some(0.0002))
        );
        assert_eq!(touch.cold_touch_seconds, Some(0.006));
        assert!(touch.stays_cold(0.00005) && !touch.stays_cold(0.0001));
        let many = FirstTouch { bytes: 16, ..touch };
        assert!(touch.shows_cold(1) && !many.shows_cold(1));
        let unknown = FirstTouch::of(8, 0, &[0.005], &[]);
        assert_eq!((unknown.cold_pages, unknown.cold_touch_seconds), (0, None));
        assert!(!unknown.stays_cold(0.0));
    }

    #[test]
    fn a_price_takes_eight_cold_pages() {
        let few = FirstTouch::of(8, 8, &[0.004; 4], &[0.0002]);
        assert_eq!(TouchPrice::of([&few]), None);
        let more = FirstTouch::of(8, 8, &[0.007; 8], &[0.0004]);
        let price = TouchPrice::of([&few, &more]).unwrap();
        assert!((price.cold_seconds - 0.006).abs() < 1e-9, "{price:?}");
        assert!((price.warm_seconds - 0.0003).abs() < 1e-9, "{price:?}");
    }
}
