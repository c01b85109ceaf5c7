//! The moment at which a program's memory was populated, and the processor time used until then: it
//! parts what is paid once from what lasts.

use crate::proc::pid_stat::ResourceUsage;
use crate::proc::tree_usage::TreeUsage;

/// Memory is in when this much of the largest resident set is there.
const MOST: f64 = 0.9;
/// A sample is kept where the resident set has grown by this factor, so that few are kept.
const GROWTH: f64 = 1.01;

/// What a tree had used when its memory was in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Since the release.
    pub seconds: f64,
    /// Resident memory then.
    pub rss_bytes: u64,
    /// Used until then.
    pub used: ResourceUsage,
}

/// The samples in which a tree was larger than before.
#[derive(Clone, Debug, Default)]
pub struct Arrivals(Vec<Arrival>);

impl Arrivals {
    /// Looks at the usage of a tree, where it is larger than it ever was.
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

    /// The first sample in which nine tenths of `peak_bytes` were there; `None` where that was between
    /// the last sample and the end.
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
