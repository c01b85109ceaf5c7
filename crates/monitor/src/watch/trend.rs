//! Anonymous folios mapped in part, over the time watched: do they grow?
//!
//! A program that gives back a part of a huge page leaves the rest on a list (`deferred_split`, mm/huge_memory.c). The
//! kernel splits it when memory runs short, and until then the part given back is not free.

use std::collections::BTreeMap;

use super::sample::Sample;
use hugewise_base::counter::Counter;

/// The number of stored points. When it is reached, every second one is dropped.
const MOST: usize = 512;
/// The watched time is divided into so many parts of equal length.
const PARTS: usize = 12;
/// Fewer parts give no interval of 95 %.
const LEAST_PARTS: usize = 6;

/// The state at one moment, over all folio sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    at_ns: u64,
    /// Bytes of folios mapped in part, including the mapped part.
    bytes: u64,
    /// Folios put on the list so far.
    queued: u64,
    /// Folios split so far.
    split: u64,
}

/// The amount of memory mapped in part during the watch.
#[derive(Clone, Debug, Default)]
pub(super) struct Trend {
    points: Vec<Point>,
}

/// The growth of memory mapped in part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    /// The watched time, in seconds.
    pub seconds: f64,
    /// The median of the rates of all parts of that time, in bytes per second.
    pub median: f64,
    /// The ends of its interval of 95 % or a little more.
    pub interval: [f64; 2],
    /// Folios put on the list per second.
    pub queued: f64,
    /// Folios split per second.
    pub split: f64,
}

impl Growth {
    /// Returns true if the whole interval is above zero: the kernel splits less than programs give back.
    pub(super) fn is_growing(&self) -> bool {
        self.interval[0] > 0.0
    }
}

impl Trend {
    /// Adds a sample; one without the counters (before Linux 6.12) adds nothing.
    pub(super) fn push(&mut self, sample: &Sample) {
        let sizes = sample.machine.sizes.value.as_ref().ok();
        self.add(sizes.and_then(|sizes| point(sample.at_ns, sizes)));
    }

    fn add(&mut self, point: Option<Point>) {
        self.points.extend(point);
        if self.points.len() >= MOST {
            self.points = std::mem::take(&mut self.points)
                .into_iter()
                .step_by(2)
                .collect();
        }
    }

    /// Memory mapped in part now, in bytes; `None` if the kernel does not count it.
    pub(super) fn bytes(&self) -> Option<u64> {
        Some(self.points.last()?.bytes)
    }

    /// The growth; `None` if there are too few samples for an interval.
    ///
    /// Growths of separate parts of the time are far less dependent than the amounts themselves. Each is above the
    /// median in half of the cases, so ordered rates bound the median, whatever their distribution.
    pub(super) fn growth(&self) -> Option<Growth> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        let seconds = last.at_ns.checked_sub(first.at_ns).filter(|&ns| ns > 0)? as f64 / 1e9;
        let mut rates = self.rates(first.at_ns, last.at_ns);
        let rank = rank(rates.len())?;
        rates.sort_by(f64::total_cmp);
        let (middle, len) = (rates.len() / 2, rates.len());
        let per_second =
            |of: fn(&Point) -> u64| of(last).saturating_sub(of(first)) as f64 / seconds;
        Some(Growth {
            seconds,
            median: f64::midpoint(rates[(len - 1) / 2], rates[middle]),
            interval: [rates[rank - 1], rates[len - rank]],
            queued: per_second(|it| it.queued),
            split: per_second(|it| it.split),
        })
    }

    /// Bytes per second in each part of the time, between the samples nearest to its ends.
    fn rates(&self, from_ns: u64, to_ns: u64) -> Vec<f64> {
        let parts = PARTS.min(self.points.len().saturating_sub(1));
        let ends = (0..=parts).filter_map(|part| {
            let part = u128::from(to_ns - from_ns) * part as u128 / parts.max(1) as u128;
            let end = from_ns.saturating_add(u64::try_from(part).ok()?);
            self.points.iter().min_by_key(|it| it.at_ns.abs_diff(end))
        });
        let ends: Vec<&Point> = ends.collect();
        let pairs = ends.windows(2).filter_map(|pair| {
            let ns = pair[1]
                .at_ns
                .checked_sub(pair[0].at_ns)
                .filter(|&ns| ns > 0)?;
            Some((pair[1].bytes as f64 - pair[0].bytes as f64) / (ns as f64 / 1e9))
        });
        pairs.collect()
    }
}

/// Sums up all sizes; `None` if no size has the state.
fn point(at_ns: u64, sizes: &BTreeMap<u64, BTreeMap<String, u64>>) -> Option<Point> {
    let total = |counter: Counter| {
        let of_sizes = sizes.values().filter_map(move |files| counter.total(files));
        of_sizes.fold(0_u64, u64::saturating_add)
    };
    let folios = |(size, files): (&u64, &BTreeMap<String, u64>)| {
        Some(
            Counter::NrAnonPartiallyMapped
                .total(files)?
                .saturating_mul(*size),
        )
    };
    let bytes = sizes.iter().filter_map(folios);
    Some(Point {
        at_ns,
        bytes: bytes.reduce(u64::saturating_add)?,
        queued: total(Counter::SplitDeferred),
        split: total(Counter::Split),
    })
}

/// The rank from either end whose ordered values enclose the median in at least 95 % of cases (sign test); `None` if
/// there are too few values.
fn rank(values: usize) -> Option<usize> {
    if values < LEAST_PARTS {
        return None;
    }
    // Probability that at most this many of the values are on one side of the median.
    let mut term = 0.5_f64.powi(i32::try_from(values).ok()?);
    let (mut below, mut rank) = (0.0, 0);
    loop {
        below += term;
        if 2.0 * below > 0.05 {
            return (rank > 0).then_some(rank);
        }
        term *= (values - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend(amounts: impl IntoIterator<Item = u64>) -> Trend {
        let points = amounts.into_iter().zip(0..).map(|(bytes, second)| Point {
            at_ns: second * 1_000_000_000,
            bytes,
            queued: 3 * second,
            split: second,
        });
        Trend {
            points: points.collect(),
        }
    }

    #[test]
    fn ranks_are_those_of_the_sign_test() {
        assert_eq!(
            [5, 6, 8, 9, 12].map(rank),
            [None, Some(1), Some(1), Some(2), Some(3)]
        );
    }

    #[test]
    fn steady_growth_is_found_with_its_rate() {
        let growth = trend((0..61).map(|second| 100 * second))
            .growth()
            .expect("a growth");
        assert_eq!((growth.seconds, growth.median), (60.0, 100.0));
        assert_eq!(growth.interval, [100.0, 100.0]);
        assert_eq!((growth.queued, growth.split), (3.0, 1.0));
        assert!(growth.is_growing());
    }

    #[test]
    fn one_jump_is_no_trend() {
        let growth = trend((0..61).map(|second| if second < 30 { 0 } else { 1 << 30 }));
        let growth = growth.growth().expect("a growth");
        assert_eq!((growth.median, growth.is_growing()), (0.0, false));
        let falling = trend((0..61).map(|second| 1000 - 10 * second)).growth();
        assert_eq!(
            falling.map(|it| (it.median, it.is_growing())),
            Some((-10.0, false))
        );
    }

    #[test]
    fn a_few_samples_give_no_interval() {
        assert_eq!(trend([]).growth(), None);
        assert_eq!(trend([1, 2, 3, 4, 5, 6]).growth(), None);
        assert!(trend([1, 2, 3, 4, 5, 6, 7]).growth().is_some());
    }

    /// Random walks without drift: the interval excludes zero about as often as it may.
    #[test]
    fn walks_without_drift_seldom_grow() {
        let mut state = 7_u64;
        let mut step = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % 2001
        };
        let walks = 2000;
        let grown = (0..walks).filter(|_| {
            let mut at = 1_u64 << 30;
            let walk = (0..121).map(|_| {
                at = at + step() - 1000;
                at
            });
            trend(walk.collect::<Vec<_>>())
                .growth()
                .is_some_and(|it| it.is_growing())
        });
        let share = grown.count() as f64 / f64::from(walks);
        assert!((0.005..0.035).contains(&share), "{share}");
    }

    #[test]
    fn long_watches_keep_the_whole_time() {
        let mut all = trend([]);
        let sizes = |bytes: u64| {
            let files = BTreeMap::from([("nr_anon_partially_mapped".to_owned(), bytes)]);
            BTreeMap::from([(4096, files), (8192, BTreeMap::new())])
        };
        for second in 0..5000_u64 {
            all.add(point(second * 1_000_000_000, &sizes(second)));
        }
        let growth = all.growth().expect("a growth");
        assert!((growth.seconds - 4999.0).abs() < 1.0 && growth.is_growing());
        assert!((growth.median - 4096.0).abs() < 1.0, "{growth:?}");
        assert_eq!(point(0, &BTreeMap::new()), None);
    }
}
