use serde::{Deserialize, Serialize};

/// Each power of two is cut into this many equal parts: a value is known within 1/32 of itself.
const PARTS: u64 = 32;
const PART_BITS: u32 = PARTS.trailing_zeros();

/// Durations, counted in buckets of 3 % width; number, sum and extremes are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    count: u64,
    sum_ns: u64,
    max_ns: u64,
    buckets: Vec<u64>,
}

/// The quantiles that are shown.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Quantiles {
    /// Half of all are at most as long.
    pub p50_ns: u64,
    /// Nine in ten.
    pub p90_ns: u64,
    /// 99 in a hundred.
    pub p99_ns: u64,
    /// 999 in a thousand.
    pub p999_ns: u64,
    /// The longest.
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

impl Latencies {
    /// Counts one.
    pub fn add(&mut self, duration_ns: u64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(duration_ns);
        self.max_ns = self.max_ns.max(duration_ns);
        let index = bucket(duration_ns);
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, 0);
        }
        self.buckets[index] += 1;
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of them together, in nanoseconds.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The shown quantiles, by nearest rank, each within 3 %; `None` when there is nothing.
    #[must_use]
    pub fn quantiles(&self) -> Option<Quantiles> {
        (self.count > 0).then(|| Quantiles {
            p50_ns: self.at(500),
            p90_ns: self.at(900),
            p99_ns: self.at(990),
            p999_ns: self.at(999),
            max_ns: self.max_ns,
        })
    }

    /// The middle of the bucket that holds this rank.
    fn at(&self, permille: u64) -> u64 {
        let rank = (self.count * permille).div_ceil(1000).max(1);
        let mut below = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank {
                let (from, width) = bounds(index);
                return (from + width / 2).min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// By powers of two, from the shortest to the longest, with empty ones between.
    #[must_use]
    pub fn bars(&self) -> Vec<Bar> {
        let mut bars: Vec<Bar> = Vec::new();
        for (index, &count) in self.buckets.iter().enumerate() {
            let power = bounds(index).0.max(1).ilog2();
            let from_ns = 1_u64 << power;
            match bars.last_mut() {
                Some(bar) if bar.from_ns == from_ns => bar.count += count,
                Some(_) => bars.push(Bar { from_ns, count }),
                None if count > 0 => bars.push(Bar { from_ns, count }),
                None => {}
            }
        }
        bars
    }

    /// Takes all of another.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (own, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *own += more;
        }
    }
}

/// The bucket of a value: below [`PARTS`] each value has its own.
fn bucket(value: u64) -> usize {
    if value < PARTS {
        return usize::try_from(value).unwrap_or(0);
    }
    let shift = value.ilog2() - PART_BITS;
    let part = (value >> shift) - PARTS;
    usize::try_from(u64::from(shift + 1) * PARTS + part).unwrap_or(usize::MAX)
}

/// The first value of a bucket, and how many values it has.
fn bounds(index: usize) -> (u64, u64) {
    let index = index as u64;
    if index < PARTS {
        return (index, 1);
    }
    let shift = index / PARTS - 1;
    ((PARTS + index % PARTS) << shift, 1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Latencies {
        let mut all = Latencies::default();
        values.into_iter().for_each(|value| all.add(value));
        all
    }

    #[test]
    fn quantiles_of_a_thousand() {
        let found = of(1..=1000).quantiles().unwrap();
        let near = |found: u64, wanted: u64| found.abs_diff(wanted) * 32 <= wanted;
        assert!(near(found.p50_ns, 500), "{found:?}");
        assert!(near(found.p90_ns, 900), "{found:?}");
        assert!(near(found.p999_ns, 999), "{found:?}");
        assert_eq!(found.max_ns, 1000);
        assert_eq!(Latencies::default().quantiles(), None);
    }

    #[test]
    fn bars_are_powers_of_two_with_gaps() {
        let bars = of([5, 6, 7, 40, 0]).bars();
        let counts: Vec<(u64, u64)> = bars.iter().map(|bar| (bar.from_ns, bar.count)).collect();
        assert_eq!(counts, [(1, 1), (2, 0), (4, 3), (8, 0), (16, 0), (32, 1)]);
    }

    proptest! {
        #[test]
        fn every_value_lies_in_its_bucket(value: u64) {
            let (from, width) = bounds(bucket(value));
            prop_assert!(from <= value && value - from < width);
            prop_assert!(width == 1 || width <= from / PARTS);
        }

        #[test]
        fn merging_is_counting_together(one: Vec<u32>, two: Vec<u32>) {
            let [one, two] = [one, two].map(|values| values.into_iter().map(u64::from));
            let mut merged = of(one.clone());
            merged.merge(&of(two.clone()));
            prop_assert_eq!(merged, of(one.chain(two)));
        }
    }
}
