use serde::{Deserialize, Serialize};

use hugewise_base::histogram::Histogram;

/// Each power of two is divided into 2^5 parts, so a quantile is at most 3 % too long.
pub(super) const BITS: u32 = 5;

/// The displayed quantiles, in nanoseconds, each at most 3 % too long.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Quantiles {
    /// The median.
    pub p50_ns: u64,
    /// The 90th percentile.
    pub p90_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.9th percentile.
    #[serde(alias = "p999_ns")]
    pub p99_9_ns: u64,
    /// The exact maximum.
    pub max_ns: u64,
}

/// A bar of a histogram by powers of two.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Bar {
    /// The lower bound. The upper bound is twice this value, exclusive.
    pub from_ns: u64,
    /// The number of faults.
    pub count: u64,
}

impl Quantiles {
    /// Computes the quantiles of a histogram; `None` if it is empty.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Option<Self> {
        Some(Self {
            p50_ns: histogram.quantile_ns(0.5)?,
            p90_ns: histogram.quantile_ns(0.9)?,
            p99_ns: histogram.quantile_ns(0.99)?,
            p99_9_ns: histogram.quantile_ns(0.999)?,
            max_ns: histogram.max_ns()?,
        })
    }
}

/// Returns bars by powers of two in ascending order, including empty ones in between.
pub(super) fn bars(histogram: &Histogram) -> Vec<Bar> {
    let rows = histogram.nano_rows().into_iter();
    rows.map(|row| Bar {
        from_ns: row.from,
        count: row.count,
    })
    .collect()
}
