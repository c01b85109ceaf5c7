//! The numbers of one trial, as single values or counts: everything that merges trials uses this type.

use crate::median;
use hugewise_base::histogram::distribution::Distribution;

/// The numbers of one trial.
#[derive(Clone, Copy, Debug)]
pub enum Sample<'a> {
    /// One by one.
    Plain(&'a [f64]),
    /// Counted; in seconds.
    Counted(&'a Distribution),
}

impl Sample<'_> {
    /// How many.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::Plain(values) => values.len(),
            Self::Counted(all) => usize::try_from(all.count()).unwrap_or(usize::MAX),
        }
    }

    /// Visits each value with its count.
    pub fn each(self, mut visit: impl FnMut(f64, usize)) {
        match self {
            Self::Plain(values) => values.iter().for_each(|&value| visit(value, 1)),
            Self::Counted(all) => {
                for (ns, count) in all.rows() {
                    visit(seconds(ns), usize::try_from(count).unwrap_or(usize::MAX));
                }
            }
        }
    }

    /// Returns the middle value; `None` if empty.
    #[must_use]
    pub fn middle(self) -> Option<f64> {
        match self {
            Self::Plain(values) => median(values),
            Self::Counted(all) => all.quantile_ns(0.5).map(seconds),
        }
    }

    /// Returns the largest value; `None` if empty.
    #[must_use]
    pub fn largest(self) -> Option<f64> {
        match self {
            Self::Plain(values) => values.iter().copied().max_by(f64::total_cmp),
            Self::Counted(all) => (all.count() > 0).then(|| seconds(all.max_ns())),
        }
    }

    /// Returns by how much a number near `value` can be too large, as a share of that number.
    #[must_use]
    pub fn uncertainty(self, value: f64) -> f64 {
        match self {
            Self::Plain(_) => 0.0,
            Self::Counted(all) => all.uncertainty((value * 1e9).round() as u64),
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
