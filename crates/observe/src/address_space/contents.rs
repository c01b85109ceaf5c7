use serde::{Deserialize, Serialize};

use hugewise_experiment::run::stats::wilson;

/// A sample of the contents of memory that a PMD maps. Files and hugetlb are not in it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// The number of base pages in that memory.
    pub pages: u64,
    /// The number of pages read: all, or a random sample.
    pub read: u64,
    /// The number of pages among them that hold only zeros.
    pub zero: u64,
}

/// An amount of memory and its 95 % interval, in bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The likeliest amount.
    pub bytes: u64,
    /// The lower end.
    pub low: u64,
    /// The upper end.
    pub high: u64,
}

impl Contents {
    /// Returns the memory that holds only zeros; `None` if nothing was read.
    #[must_use]
    pub fn empty(&self, page_bytes: u64) -> Option<Estimate> {
        if self.read == 0 {
            return None;
        }
        if self.read >= self.pages {
            let bytes = self.zero.saturating_mul(page_bytes);
            return Some(Estimate {
                bytes,
                low: bytes,
                high: bytes,
            });
        }
        let share = wilson(self.zero, self.read);
        let whole = self.pages.saturating_mul(page_bytes) as f64;
        let bytes = |share: f64| (share * whole).round() as u64;
        Some(Estimate {
            bytes: bytes(share.share),
            low: bytes(share.low),
            high: bytes(share.high),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;
    const MIB: u64 = 1 << 20;

    fn empty(pages: u64, read: u64, zero: u64) -> Option<Estimate> {
        Contents { pages, read, zero }.empty(PAGE)
    }

    #[test]
    fn a_sample_has_an_interval_and_a_whole_has_none() {
        let sampled = empty(262_144, 1024, 1022).unwrap();
        assert!(
            sampled.low > 1015 * MIB && sampled.low < sampled.bytes,
            "{sampled:?}"
        );
        assert!(
            sampled.high <= 1024 * MIB && sampled.high > sampled.bytes,
            "{sampled:?}"
        );
        let whole = empty(512, 512, 511).unwrap();
        assert_eq!([whole.low, whole.bytes, whole.high], [511 * PAGE; 3]);
    }

    #[test]
    fn full_memory_has_no_empty_pages_but_for_the_doubt_of_a_sample() {
        let full = empty(262_144, 1024, 0).unwrap();
        assert_eq!((full.bytes, full.low), (0, 0));
        assert!(full.high < 5 * MIB, "{full:?}");
        assert_eq!(empty(512, 0, 0), None);
    }
}
