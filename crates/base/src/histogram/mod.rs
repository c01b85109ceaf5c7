//! Durations counted in buckets: one type and one rule for quantiles; the resolution is a parameter.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub mod buckets;
/// Durations of requests, in the form stored in a trial.
pub mod distribution;
/// Durations with their sum and shortest value.
pub mod durations;

/// Returns how many of `count` sorted values are at or below the quantile `share`: the nearest rank, `ceil(share ×
/// count)`, at least 1.
///
/// Every quantile of this crate is a value at this rank, so that "p99" means the same in each document. At least 99 in
/// a hundred were no longer, and the value did occur (up to the width of a bucket). Interpolation would invent values
/// between two real ones. A rank rounded down would leave more than a hundredth above its p99.
#[must_use]
pub fn rank(count: u64, share: f64) -> u64 {
    let exact = count as f64 * share;
    // 0.55 × 100 is slightly above 55 in binary.
    let whole = (exact - exact * 1e-12).ceil() as u64;
    whole.clamp(1, count.max(1))
}

/// Durations in buckets of one relative width. The count and the longest value are exact; merging adds the counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    bits: u32,
    count: u64,
    max_ns: Option<u64>,
    slots: BTreeMap<usize, u64>,
}

/// One row of a histogram: from its floor to the floor of the next.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct PowerRow {
    /// The smallest value in the row.
    pub from: u64,
    /// How many.
    pub count: u64,
}

/// A non-empty bucket, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The shortest duration of the bucket.
    pub floor_ns: u64,
    /// The longest duration of the bucket, limited to the longest of all.
    pub edge_ns: u64,
    /// How many.
    pub count: u64,
}

impl Histogram {
    /// Creates an empty histogram. Each power of two is split into 2^`bits` buckets, so a quantile is at most
    /// 1/2^`bits` too long.
    #[must_use]
    pub fn new(bits: u32) -> Self {
        Self {
            bits,
            count: 0,
            max_ns: None,
            slots: BTreeMap::new(),
        }
    }

    /// Creates it from counts in the same buckets, by bucket index; the longest value is unknown.
    #[must_use]
    pub fn from_slots(bits: u32, slots: impl IntoIterator<Item = (usize, u64)>) -> Self {
        let slots: BTreeMap<usize, u64> = slots.into_iter().filter(|slot| slot.1 > 0).collect();
        Self {
            bits,
            count: slots
                .values()
                .fold(0, |sum, &count| sum.saturating_add(count)),
            max_ns: None,
            slots,
        }
    }

    /// Returns the same histogram with the known longest value, in nanoseconds.
    #[must_use]
    pub fn with_max(self, max_ns: Option<u64>) -> Self {
        Self { max_ns, ..self }
    }

    /// Counts `count` durations of `ns` nanoseconds each.
    pub fn add(&mut self, ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        self.count = self.count.saturating_add(count);
        self.max_ns = self.max_ns.max(Some(ns));
        self.fill(buckets::slot(ns, self.bits), count);
    }

    /// Adds another histogram of the same resolution.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.bits, other.bits, "buckets of one width");
        self.count = self.count.saturating_add(other.count);
        self.max_ns = self.max_ns.max(other.max_ns);
        for (&slot, &count) in &other.slots {
            self.fill(slot, count);
        }
    }

    fn fill(&mut self, slot: usize, count: u64) {
        let bucket = self.slots.entry(slot).or_default();
        *bucket = bucket.saturating_add(count);
    }

    /// Returns the durations since `earlier`, without their longest value.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let slots = self.slots.iter().map(|(slot, now)| {
            let then = earlier.slots.get(slot).copied().unwrap_or(0);
            (*slot, now.saturating_sub(then))
        });
        Self::from_slots(self.bits, slots)
    }

    /// How many durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the longest value, in nanoseconds; `None` if empty or unknown.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        self.max_ns
    }

    /// Iterates over the non-empty buckets, the shortest first.
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = Bucket> {
        let slots = self.slots.iter();
        slots.map(|(&slot, &count)| Bucket {
            count,
            ..self.bucket(slot)
        })
    }

    /// Returns the bucket of a duration, without its count.
    #[must_use]
    pub fn bucket_of(&self, ns: u64) -> Bucket {
        self.bucket(buckets::slot(ns, self.bits))
    }

    fn bucket(&self, slot: usize) -> Bucket {
        let ceiling = buckets::ceiling(slot, self.bits);
        let is_last = self
            .slots
            .last_key_value()
            .is_some_and(|last| *last.0 == slot);
        let edge_ns = match self.max_ns {
            // A counter with fewer buckets counts all longer values in its last one.
            Some(max) if is_last => max,
            Some(max) => ceiling.min(max),
            None => ceiling,
        };
        Bucket {
            floor_ns: buckets::floor(slot, self.bits),
            edge_ns,
            count: 0,
        }
    }

    /// Returns a duration that the share `q` of all did not exceed, in nanoseconds: the upper edge of the bucket with
    /// the value at its [`rank`]. `None` if empty.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let rank = rank(self.count, q);
        let mut below = 0_u64;
        self.buckets().find_map(|bucket| {
            below = below.saturating_add(bucket.count);
            (below >= rank).then_some(bucket.edge_ns)
        })
    }

    /// Returns rows of powers of two of nanoseconds, from the first to the last non-empty one.
    #[must_use]
    pub fn nano_rows(&self) -> Vec<PowerRow> {
        let mut rows: Vec<PowerRow> = Vec::new();
        for bucket in self.buckets() {
            let power = bucket.floor_ns.checked_ilog2();
            let from = power.map_or(0, |power| 1 << power);
            while rows.last().is_some_and(|row| row.from < from) {
                let last = rows.last().map_or(0, |row| row.from);
                rows.push(PowerRow {
                    from: (last * 2).max(1),
                    count: 0,
                });
            }
            match rows.last_mut() {
                Some(row) => row.count = row.count.saturating_add(bucket.count),
                None => rows.push(PowerRow {
                    from,
                    count: bucket.count,
                }),
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(bits: u32, values: &[u64]) -> Histogram {
        let mut all = Histogram::new(bits);
        values.iter().for_each(|&ns| all.add(ns, 1));
        all
    }

    #[test]
    fn ranks_are_the_nearest() {
        let cases = [
            (100, 0.5, 50),
            (100, 0.55, 55),
            (100, 0.99, 99),
            (1000, 0.999, 999),
            (101, 0.5, 51),
            (3, 0.0, 1),
            (3, 1.0, 3),
            (0, 0.5, 1),
        ];
        for (count, share, expected) in cases {
            assert_eq!(rank(count, share), expected, "{count} {share}");
        }
    }

    proptest! {
        #[test]
        fn quantiles_are_at_most_a_bucket_too_long(
            mut values in prop::collection::vec(0_u64..1 << 50, 1..300),
            q in 0.0_f64..=1.0,
            bits in 2_u32..9,
        ) {
            let all = of(bits, &values);
            values.sort_unstable();
            let truth = values[rank(values.len() as u64, q) as usize - 1];
            let found = all.quantile_ns(q).expect("there are values");
            prop_assert!(truth <= found, "{truth} {found}");
            prop_assert!((found - truth) << bits <= truth, "{truth} {found}");
            prop_assert_eq!(all.quantile_ns(1.0), values.last().copied());
        }

        #[test]
        fn parts_add_up_to_the_whole(one: Vec<u64>, two: Vec<u64>, bits in 2_u32..9) {
            let mut both = of(bits, &one);
            both.merge(&of(bits, &two));
            let whole = of(bits, &[one.clone(), two.clone()].concat());
            prop_assert_eq!(&both, &whole);
            prop_assert_eq!(whole.since(&of(bits, &one)), of(bits, &two).with_max(None));
        }

        #[test]
        fn rows_hold_every_duration_once(values in prop::collection::vec(any::<u64>(), 1..100)) {
            let all = of(3, &values);
            let rows: u64 = all.nano_rows().iter().map(|row| row.count).sum();
            let buckets: u64 = all.buckets().map(|bucket| bucket.count).sum();
            prop_assert_eq!((rows, buckets), (all.count(), all.count()));
        }
    }

    #[test]
    fn rows_are_powers_of_two_with_gaps() {
        let rows = of(5, &[5, 6, 7, 40, 0]).nano_rows();
        let rows: Vec<(u64, u64)> = rows.iter().map(|row| (row.from, row.count)).collect();
        assert_eq!(
            rows,
            [(0, 1), (1, 0), (2, 0), (4, 3), (8, 0), (16, 0), (32, 1)]
        );
        assert_eq!(Histogram::new(3).quantile_ns(0.5), None);
    }

    #[test]
    fn without_a_longest_the_edge_is_that_of_the_bucket() {
        let counted = Histogram::from_slots(3, [(8, 1), (9, 0)]);
        assert_eq!((counted.count(), counted.max_ns()), (1, None));
        assert_eq!(counted.quantile_ns(0.5), Some(8));
        let long = Histogram::from_slots(3, [(327, 1)]).with_max(Some(1 << 50));
        assert_eq!(long.quantile_ns(0.5), Some(1 << 50));
    }
}
