//! The moment at which a program's memory was populated, and the processor time used until then; this separates
//! one-time costs from running costs.

use crate::proc::pid_stat::ResourceUsage;
use crate::proc::tree_usage::TreeUsage;

/// Memory counts as populated at this share of the largest resident set.
const MOST: f64 = 0.9;
/// A sample is kept only if the resident set has grown by this factor, to keep few samples.
const GROWTH: f64 = 1.01;

/// The usage of a tree at the time its memory was populated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Seconds since the release.
    pub seconds: f64,
    /// Resident memory at that time.
    pub rss_bytes: u64,
    /// Usage until that time.
    pub used: ResourceUsage,
}

/// The samples in which a tree was larger than ever before.
#[derive(Clone, Debug, Default)]
pub struct Arrivals(Vec<Arrival>);

impl Arrivals {
    /// Reads the usage of a tree if it is larger than ever before.
    pub(super) fn look(&mut self, seconds: f64, rss_bytes: u64, usage: impl FnOnce() -> TreeUsage) {
        let last = self.0.last().map_or(0, |last| last.rss_bytes);
        if (rss_bytes as f64) <= last as f64 * GROWTH {
            return;
        }
        if let Some(used) = usage().since(&TreeUsage::default()) {
            self.0.push(Arrival {
                seconds,
                rss_bytes,
                used,
            });
        }
    }

    /// Returns the first sample with nine tenths of `peak_bytes`; `None` if that amount was reached between the last
    /// sample and the end.
    #[must_use]
    pub fn of(&self, peak_bytes: u64) -> Option<Arrival> {
        let enough = |it: &&Arrival| it.rss_bytes as f64 >= MOST * peak_bytes as f64;
        self.0.iter().find(enough).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_in_when_nine_tenths_of_it_are() {
        let at = |seconds, rss_bytes| Arrival {
            seconds,
            rss_bytes,
            used: ResourceUsage::default(),
        };
        let arrivals = Arrivals(vec![at(0.1, 50), at(0.2, 89), at(0.3, 91), at(0.4, 100)]);
        assert_eq!(arrivals.of(100).map(|it| it.rss_bytes), Some(91));
        assert_eq!(arrivals.of(120), None);
    }
}
