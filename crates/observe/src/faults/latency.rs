use serde::{Deserialize, Serialize};

use hugewise_base::histogram::Histogram;

/// Each power of two is cut into 2^5 parts: a quantile is at most 3 % too long.
pub(super) const BITS: u32 = 5;

/// The quantiles that are shown, in nanoseconds, each at most 3 % too long.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Quantiles {
    /// Half of all are at most as long.
    pub p50_ns: u64,
    /// 90 %.
    pub p90_ns: u64,
    /// 99 %.
    pub p99_ns: u64,
    /// 99.9 %.
    #[serde(alias = "p999_ns")]
    pub p99_9_ns: u64,
    /// The longest, exactly.
    pub max_ns: u64,
}

/// A bar of a histogram by powers of two.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Bar {
    /// The shortest that belongs here; the longest is one less than the double.
    pub from_ns: u64,
    /// How many.
    pub count: u64,
}

impl Quantiles {
    /// Those of a histogram; `None` where nothing is in it.
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

/// By powers of two, from the shortest to the longest, with empty ones between.
pub(super) fn bars(histogram: &Histogram) -> Vec<Bar> {
    let rows = histogram.nano_rows().into_iter();
    rows.map(|row| Bar {
        from_ns: row.from,
        count: row.count,
    })
    .collect()
}
