use super::buckets::{FINE_BITS, MICRO_SLOTS, micro_floor, micro_slot};
use super::{Histogram, PowerRow};

/// Durations of one kind, with their exact sum, also sorted by microseconds, the usual unit of kernel latencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durations {
    /// Their buckets.
    pub histogram: Histogram,
    /// Their sum, in nanoseconds.
    pub total_ns: u64,
    /// The shortest, in nanoseconds; `None` if empty or unknown.
    pub min_ns: Option<u64>,
    micro: Vec<u64>,
}

impl Default for Durations {
    /// Uses the buckets of the BPF program.
    fn default() -> Self {
        Self::new(FINE_BITS)
    }
}

impl Durations {
    /// Creates an empty set, in buckets of 1/2^`bits`.
    #[must_use]
    pub fn new(bits: u32) -> Self {
        Self {
            histogram: Histogram::new(bits),
            total_ns: 0,
            min_ns: None,
            micro: vec![0; MICRO_SLOTS],
        }
    }

    /// Creates it from the kernel's counts: a sum, and the buckets defined in [`buckets`](super::buckets).
    #[must_use]
    pub fn counted(total_ns: u64, fine: &[u64], micro: &[u64]) -> Self {
        let slots = fine.iter().copied().enumerate();
        Self {
            histogram: Histogram::from_slots(FINE_BITS, slots),
            total_ns,
            min_ns: None,
            micro: micro.to_vec(),
        }
    }

    /// Counts one, in nanoseconds.
    pub fn add(&mut self, ns: u64) {
        self.histogram.add(ns, 1);
        self.total_ns = self.total_ns.saturating_add(ns);
        self.min_ns = shorter(self.min_ns, Some(ns));
        self.micro[micro_slot(ns)] += 1;
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        self.histogram.merge(&other.histogram);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.min_ns = shorter(self.min_ns, other.min_ns);
        for (own, more) in self.micro.iter_mut().zip(&other.micro) {
            *own = own.saturating_add(*more);
        }
    }

    /// Returns the durations since `earlier`, without their shortest and longest.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let micro = self.micro.iter().zip(&earlier.micro);
        Self {
            histogram: self.histogram.since(&earlier.histogram),
            total_ns: self.total_ns.saturating_sub(earlier.total_ns),
            min_ns: None,
            micro: micro.map(|(now, then)| now.saturating_sub(*then)).collect(),
        }
    }

    /// Returns the same durations with the known shortest and longest, in nanoseconds.
    #[must_use]
    pub fn with_extremes(self, min_ns: u64, max_ns: u64) -> Self {
        Self {
            histogram: self.histogram.with_max(Some(max_ns)),
            min_ns: Some(min_ns),
            ..self
        }
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// The mean, in nanoseconds.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.total_ns as f64 / self.count() as f64)
    }

    /// Returns rows of powers of two of microseconds, from the first to the last non-empty one.
    #[must_use]
    pub fn micro_rows(&self) -> Vec<PowerRow> {
        let full = |count: &u64| *count > 0;
        let first = self.micro.iter().position(full).unwrap_or(0);
        let behind = self.micro.iter().rposition(full).map_or(0, |last| last + 1);
        let rows = self.micro.iter().enumerate();
        rows.take(behind)
            .skip(first)
            .map(|(slot, &count)| PowerRow {
                from: micro_floor(slot),
                count,
            })
            .collect()
    }
}

impl Extend<u64> for Durations {
    fn extend<T: IntoIterator<Item = u64>>(&mut self, durations: T) {
        durations.into_iter().for_each(|ns| self.add(ns));
    }
}

impl FromIterator<u64> for Durations {
    fn from_iter<T: IntoIterator<Item = u64>>(durations: T) -> Self {
        let mut all = Self::default();
        all.extend(durations);
        all
    }
}

fn shorter(one: Option<u64>, two: Option<u64>) -> Option<u64> {
    one.into_iter().chain(two).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_powers_of_two() {
        let all = Durations::from_iter([500, 999, 1_000, 1_999, 2_000, 9_000]);
        let rows = all.micro_rows();
        let rows: Vec<(u64, u64)> = rows.iter().map(|row| (row.from, row.count)).collect();
        assert_eq!(rows, [(0, 2), (1, 2), (2, 1), (4, 0), (8, 1)]);
        assert_eq!(all.mean_ns(), Some(15_498.0 / 6.0));
        assert_eq!(
            (all.min_ns, all.histogram.max_ns()),
            (Some(500), Some(9_000))
        );
        assert_eq!(Durations::default().mean_ns(), None);
        assert!(Durations::default().micro_rows().is_empty());
    }

    #[test]
    fn what_came_since_is_the_rest() {
        let early = Durations::from_iter([500, 900_000]);
        let mut all = early.clone();
        all.extend([7_000]);
        let rest = all.since(&early).with_extremes(7_000, 7_000);
        assert_eq!(rest, Durations::from_iter([7_000]));
        let mut sum = early;
        sum.merge(&rest);
        assert_eq!(sum, all);
    }
}
