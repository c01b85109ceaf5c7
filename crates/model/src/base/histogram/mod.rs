//! How long things took: histograms of durations, and what can be said from them.

use serde::Serialize;

/// The edges of the buckets.
pub mod buckets;
/// Durations of requests, as a trial carries them.
pub mod distribution;

use buckets::{FINE_SLOTS, MICRO_SLOTS, fine_ceiling, fine_floor, micro_floor};

/// Durations of one kind, sorted into buckets where they were measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// How many.
    pub count: u64,
    /// Their sum, in nanoseconds.
    pub total_ns: u64,
    /// The shortest and the longest, exactly, in nanoseconds; `None` where there were none.
    pub extremes: Option<Extremes>,
    fine: Vec<u64>,
    micro: Vec<u64>,
}

/// The shortest and the longest of some durations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extremes {
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Extremes {
    /// Those of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            min_ns: self.min_ns.min(other.min_ns),
            max_ns: self.max_ns.max(other.max_ns),
        }
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            count: 0,
            total_ns: 0,
            extremes: None,
            fine: vec![0; FINE_SLOTS],
            micro: vec![0; MICRO_SLOTS],
        }
    }
}

/// One row of a histogram: from its floor to the floor of the next.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub struct Row {
    /// The smallest value in it.
    pub from: u64,
    /// How many.
    pub count: u64,
}

impl Histogram {
    /// What the kernel counted: a count, a sum, and the buckets as [`buckets`] defines them.
    /// Slots that are missing are empty, slots beyond the last are added to it.
    #[must_use]
    pub fn counted(count: u64, total_ns: u64, fine: &[u64], micro: &[u64]) -> Self {
        let mut histogram = Self {
            count,
            total_ns,
            ..Self::default()
        };
        add_slots(&mut histogram.fine, fine);
        add_slots(&mut histogram.micro, micro);
        histogram
    }

    /// The histogram of single durations, in nanoseconds.
    #[must_use]
    pub fn of(durations: impl IntoIterator<Item = u64>) -> Self {
        let mut histogram = Self::default();
        for ns in durations {
            histogram.count += 1;
            histogram.total_ns = histogram.total_ns.saturating_add(ns);
            histogram.fine[buckets::fine_slot(ns)] += 1;
            histogram.micro[buckets::micro_slot(ns)] += 1;
            let one = Extremes {
                min_ns: ns,
                max_ns: ns,
            };
            histogram.extremes = Some(histogram.extremes.map_or(one, |all| all.with(one)));
        }
        histogram
    }

    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        add_slots(&mut self.fine, &other.fine);
        add_slots(&mut self.micro, &other.micro);
        self.extremes = match (self.extremes, other.extremes) {
            (Some(one), Some(two)) => Some(one.with(two)),
            (one, two) => one.or(two),
        };
    }

    /// What has come since `earlier`; the extremes are those that the caller knows of this time.
    #[must_use]
    pub fn since(&self, earlier: &Self, extremes: Option<Extremes>) -> Self {
        let less = |now: &[u64], then: &[u64]| -> Vec<u64> {
            let pairs = now.iter().zip(then);
            pairs.map(|(now, then)| now.saturating_sub(*then)).collect()
        };
        let count = self.count.saturating_sub(earlier.count);
        Self {
            count,
            total_ns: self.total_ns.saturating_sub(earlier.total_ns),
            extremes: extremes.filter(|_| count > 0),
            fine: less(&self.fine, &earlier.fine),
            micro: less(&self.micro, &earlier.micro),
        }
    }

    /// The mean, in nanoseconds.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total_ns as f64 / self.count as f64)
    }

    /// A duration that this share of all did not exceed, in nanoseconds: the upper edge of the
    /// bucket in which the share is reached, so at most an eighth too long, and never longer
    /// than the longest.
    #[must_use]
    pub fn percentile_ns(&self, share: f64) -> Option<u64> {
        let sorted: u64 = self.fine.iter().sum();
        // The smallest whole number of durations that is no less than the share.
        let wanted = ((sorted as f64 * share).ceil() as u64).clamp(1, sorted.max(1));
        let mut seen = 0;
        let slot = self.fine.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        let edge = fine_ceiling(slot);
        Some(self.extremes.map_or(edge, |all| edge.min(all.max_ns)))
    }

    /// Rows of powers of two of microseconds, from the first that is not empty to the last.
    #[must_use]
    pub fn micro_rows(&self) -> Vec<Row> {
        let rows = self.micro.iter().enumerate().map(|(slot, &count)| Row {
            from: micro_floor(slot),
            count,
        });
        trimmed(&rows.collect::<Vec<Row>>())
    }

    /// Rows of powers of two of nanoseconds, from the first that is not empty to the last.
    #[must_use]
    pub fn nano_rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for (slot, &count) in self.fine.iter().enumerate() {
            let floor = fine_floor(slot);
            match rows.last_mut() {
                Some(row) if floor > 1 && !floor.is_power_of_two() => row.count += count,
                _ => rows.push(Row { from: floor, count }),
            }
        }
        trimmed(&rows)
    }

    /// The fine buckets that are not empty, by their lower edge in nanoseconds.
    #[must_use]
    pub fn fine_rows(&self) -> Vec<Row> {
        let rows = self.fine.iter().enumerate();
        rows.filter(|(_, count)| **count > 0)
            .map(|(slot, &count)| Row {
                from: fine_floor(slot),
                count,
            })
            .collect()
    }
}

fn add_slots(to: &mut [u64], from: &[u64]) {
    let last = to.len() - 1;
    for (slot, count) in from.iter().enumerate() {
        let place = &mut to[slot.min(last)];
        *place = place.saturating_add(*count);
    }
}

fn trimmed(rows: &[Row]) -> Vec<Row> {
    let full = |row: &Row| row.count > 0;
    let Some(first) = rows.iter().position(full) else {
        return Vec::new();
    };
    let last = rows.iter().rposition(full).unwrap_or(first);
    rows[first..=last].to_vec()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, from the sorted values themselves.
    fn exact(sorted: &[u64], share: f64) -> u64 {
        let rank = (sorted.len() as f64 * share).ceil().max(1.0) as usize;
        sorted[rank - 1]
    }

    proptest! {
        #[test]
        fn percentiles_are_at_most_an_eighth_too_long(
            mut values in prop::collection::vec(0_u64..50_000_000_000, 1..400),
            share in 0.0_f64..1.0,
        ) {
            let histogram = Histogram::of(values.iter().copied());
            values.sort_unstable();
            let truth = exact(&values, share);
            let said = histogram.percentile_ns(share).expect("there are values");
            prop_assert!(truth <= said, "{truth} {said}");
            prop_assert!(said as f64 <= truth as f64 * 1.125, "{truth} {said}");
        }

        #[test]
        fn parts_add_up_to_the_whole(
            one in prop::collection::vec(any::<u32>(), 0..50),
            two in prop::collection::vec(any::<u32>(), 0..50),
        ) {
            let of = |values: &[u32]| Histogram::of(values.iter().map(|&v| u64::from(v)));
            let whole = of(&[one.clone(), two.clone()].concat());
            let mut sum = of(&one);
            sum.add(&of(&two));
            prop_assert_eq!(&sum, &whole);
            prop_assert_eq!(whole.since(&of(&one), of(&two).extremes), of(&two));
        }

        #[test]
        fn rows_hold_every_duration_once(values in prop::collection::vec(any::<u64>(), 1..100)) {
            let histogram = Histogram::of(values.iter().copied());
            let sum = |rows: Vec<Row>| rows.iter().map(|row| row.count).sum::<u64>();
            prop_assert_eq!(sum(histogram.micro_rows()), values.len() as u64);
            prop_assert_eq!(sum(histogram.nano_rows()), values.len() as u64);
            prop_assert_eq!(sum(histogram.fine_rows()), values.len() as u64);
        }
    }

    #[test]
    fn rows_are_the_powers_of_two() {
        let histogram = Histogram::of([500, 999, 1_000, 1_999, 2_000, 9_000]);
        let rows: Vec<(u64, u64)> = histogram
            .micro_rows()
            .iter()
            .map(|row| (row.from, row.count))
            .collect();
        assert_eq!(rows, [(0, 2), (1, 2), (2, 1), (4, 0), (8, 1)]);
        let rows = histogram.nano_rows();
        assert_eq!(
            rows.first().map(|row| (row.from, row.count)),
            Some((256, 1))
        );
        assert_eq!(
            rows.last().map(|row| (row.from, row.count)),
            Some((8192, 1))
        );
        assert_eq!(histogram.mean_ns(), Some(15_498.0 / 6.0));
        assert_eq!(Histogram::default().percentile_ns(0.5), None);
        assert_eq!(Histogram::default().mean_ns(), None);
    }
}
