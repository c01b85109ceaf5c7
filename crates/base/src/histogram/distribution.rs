use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Histogram;
use super::buckets::slot;

/// Each power of two is split into 2^8 parts: a bucket's width is at most 1/256 of its values.
const BITS: u32 = 8;

/// The durations of requests, counted in buckets at most 0.4 % wide, with the precision of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Distribution {
    histogram: Histogram,
    /// The smallest step of the source; 1 if it is finer than the buckets.
    step_ns: u64,
    grain: Grain,
}

/// The precision of the source's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grain {
    /// As precise as the buckets.
    Bucket,
    /// A table of some values, each with the number of requests that were no longer. A request counted at a value was
    /// between the previous listed value and that value.
    Listed,
}

impl Distribution {
    /// Creates an empty distribution for a source whose smallest step is `step_ns`.
    #[must_use]
    pub fn new(grain: Grain, step_ns: u64) -> Self {
        Self {
            histogram: Histogram::new(BITS),
            step_ns: step_ns.max(1),
            grain,
        }
    }

    /// Counts `count` requests that took `ns` each.
    pub fn add(&mut self, ns: u64, count: u64) {
        self.histogram.add(ns, count);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        self.histogram.merge(&other.histogram);
        self.step_ns = self.step_ns.max(other.step_ns);
        self.grain = self.grain.max(other.grain);
    }

    /// How many requests.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// The longest, in nanoseconds.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.histogram.max_ns().unwrap_or(0)
    }

    /// Iterates over the non-empty buckets, the shortest first: upper edge in nanoseconds (never above the longest
    /// value) and count.
    pub fn rows(&self) -> impl Iterator<Item = (u64, u64)> {
        let buckets = self.histogram.buckets();
        buckets.map(|bucket| (bucket.edge_ns, bucket.count))
    }

    /// Returns a duration that the share `q` of all requests did not exceed, in nanoseconds, by the rule of
    /// [`Histogram::quantile_ns`].
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        self.histogram.quantile_ns(q)
    }

    /// Returns by how much a value of this distribution can be too long, as a share of that value: the width of its
    /// bucket or step.
    #[must_use]
    pub fn uncertainty(&self, ns: u64) -> f64 {
        let bucket = self.histogram.bucket_of(ns.min(self.max_ns()));
        let below = match self.grain {
            Grain::Bucket => bucket.floor_ns,
            Grain::Listed => {
                let shorter = self.histogram.buckets().rev();
                let mut floors = shorter.map(|one| one.floor_ns);
                floors.find(|&floor| floor < bucket.floor_ns).unwrap_or(1)
            }
        };
        let below = below.max(1);
        let width = bucket.edge_ns.max(below) - below;
        (width.max(self.step_ns - 1)) as f64 / below as f64
    }
}

/// The serialised form in the record.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// The number of values.
    count: u64,
    /// The largest value, exactly.
    max_ns: u64,
    /// The smallest step of the source.
    step_ns: u64,
    /// The precision of the source's values.
    grain: Grain,
    /// The index of each non-empty bucket and its count.
    buckets: Vec<(usize, u64)>,
}

impl From<Distribution> for Written {
    fn from(it: Distribution) -> Self {
        let buckets = it.histogram.buckets();
        Self {
            count: it.count(),
            max_ns: it.max_ns(),
            step_ns: it.step_ns,
            grain: it.grain,
            buckets: buckets
                .map(|one| (slot(one.floor_ns, BITS), one.count))
                .collect(),
        }
    }
}

impl TryFrom<Written> for Distribution {
    type Error = String;

    fn try_from(it: Written) -> Result<Self, String> {
        let last = it.buckets.iter().map(|bucket| bucket.0).max();
        let slots: BTreeMap<usize, u64> = it.buckets.iter().copied().collect();
        let distinct = slots.len() == it.buckets.len();
        let max_ns = (it.count > 0).then_some(it.max_ns);
        let histogram = Histogram::from_slots(BITS, slots).with_max(max_ns);
        if !distinct || histogram.count() != it.count || it.step_ns == 0 {
            return Err("a histogram whose buckets do not add up to its count".to_owned());
        }
        if last != max_ns.map(|max| slot(max, BITS)) {
            return Err("a histogram whose longest is not in its last bucket".to_owned());
        }
        Ok(Self {
            histogram,
            step_ns: it.step_ns,
            grain: it.grain,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> Distribution {
        let mut all = Distribution::new(Grain::Bucket, 1);
        values.iter().for_each(|&ns| all.add(ns, 1));
        all
    }

    proptest! {
        #[test]
        fn quantiles_are_at_most_a_bucket_too_long(
            mut values in prop::collection::vec(0_u64..1 << 50, 1..300),
            q in 0.0_f64..=1.0,
        ) {
            let all = of(&values);
            values.sort_unstable();
            let rank = crate::histogram::rank(values.len() as u64, q) as usize;
            let (truth, said) = (values[rank - 1], all.quantile_ns(q).expect("not empty"));
            prop_assert!((said - truth) as f64 <= all.uncertainty(said) * truth as f64 + 0.5);
            prop_assert!(all.uncertainty(said) <= 1.0 / 256.0);
        }

        #[test]
        fn merging_is_counting_together_and_the_record_keeps_it(
            one: Vec<u64>, two: Vec<u64>,
        ) {
            let mut both = of(&one);
            both.merge(&of(&two));
            prop_assert_eq!(&both, &of(&[one, two].concat()));
            let text = serde_json::to_string(&both).expect("plain data");
            prop_assert_eq!(serde_json::from_str::<Distribution>(&text).expect("own text"), both);
        }
    }

    #[test]
    fn what_does_not_add_up_is_refused() {
        let text = |count, max, buckets| {
            format!(
                r#"{{"count":{count},"max_ns":{max},"step_ns":1,"grain":"bucket","buckets":{buckets}}}"#
            )
        };
        let read = |text: String| serde_json::from_str::<Distribution>(&text).is_ok();
        assert!(read(text(3, 7, "[[5,1],[7,2]]")));
        assert!(read(text(0, 0, "[]")));
        assert!(!read(text(4, 7, "[[5,1],[7,2]]")));
        assert!(!read(text(3, 8, "[[5,1],[7,2]]")));
        assert!(!read(text(3, 7, "[[7,1],[7,2]]")));
        assert!(!read(text(2, 7, "[[9999999,2]]")));
    }

    #[test]
    fn a_listed_value_is_known_down_to_the_one_before() {
        let mut table = Distribution::new(Grain::Listed, 1);
        table.add(1_000_000, 50);
        table.add(2_000_000, 40);
        let uncertain = table.uncertainty(2_000_000);
        assert!((1.0..1.02).contains(&uncertain), "{uncertain}");
        let mut coarse = Distribution::new(Grain::Bucket, 1_000);
        coarse.add(10_000, 9);
        assert!(coarse.uncertainty(10_000) >= 0.0999);
    }
}
