//! Pre-period values of units in a few time spans, so that one half can predict the other.

use crate::Sums;

/// The maximum number of spans, whatever the length of the pre-period. Memory must not grow with rows.
const MOST: u64 = 8;

/// The time spans of all units: each is `1 << shift` seconds long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stretches {
    shift: u32,
    /// The first and the last start of a period.
    ends: Option<(i64, i64)>,
}

/// One metric in the pre-period of one unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    shift: u32,
    parts: Vec<(i64, Sums)>,
}

impl Stretches {
    /// Extends the spans to a period that begins at `start`.
    pub(super) fn widen(&mut self, start: i64) {
        let (first, last) = self.ends.unwrap_or((start, start));
        let (first, last) = (first.min(start), last.max(start));
        let shifts = self.shift..i64::BITS;
        let fits = |shift: &u32| (last >> shift).abs_diff(first >> shift) < MOST;
        // All times are within two spans of the longest kind.
        self.shift = shifts.into_iter().find(fits).unwrap_or(i64::BITS - 1);
        self.ends = Some((first, last));
    }

    /// Returns true if a span belongs to the earlier half, because more than half of it is before the middle.
    fn is_early(self, stretch: i64) -> bool {
        let (first, last) = self.ends.unwrap_or_default();
        i128::from(stretch) * 2 <= i128::from(first >> self.shift) + i128::from(last >> self.shift)
    }
}

impl Past {
    /// Adds a period that is within `stretches`.
    pub(super) fn add(&mut self, stretches: Stretches, start: i64, sums: &Sums) {
        if self.shift < stretches.shift {
            for (stretch, sums) in std::mem::take(&mut self.parts) {
                self.merge(stretch >> (stretches.shift - self.shift), &sums);
            }
            self.shift = stretches.shift;
        }
        self.merge(start >> self.shift, sums);
    }

    fn merge(&mut self, stretch: i64, sums: &Sums) {
        match self.parts.iter_mut().rfind(|(it, _)| *it == stretch) {
            Some((_, known)) => known.merge(sums),
            None => self.parts.push((stretch, *sums)),
        }
    }

    /// The values of this unit in the earlier and the later half of the common pre-period.
    pub(super) fn halves(&self, stretches: Stretches) -> [Sums; 2] {
        let mut halves = [Sums::default(); 2];
        for (stretch, sums) in &self.parts {
            let is_early = stretches.is_early(stretch >> (stretches.shift - self.shift));
            halves[usize::from(!is_early)].merge(sums);
        }
        halves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_past_of_any_length_has_two_halves_in_any_order() {
        for periods in [2, 3, 5, 1000] {
            for is_reversed in [false, true] {
                let (mut stretches, mut past) = (Stretches::default(), Past::default());
                for period in 0..periods {
                    let at = if is_reversed {
                        periods - 1 - period
                    } else {
                        period
                    };
                    let start = 1_796_083_207 + 300 * at;
                    stretches.widen(start);
                    past.add(stretches, start, &Sums::one(at as f64));
                    assert!(past.parts.len() <= MOST as usize);
                }
                let [early, late] = past.halves(stretches);
                assert_eq!((early.n + late.n) as i64, periods);
                assert!(early.mean < late.mean, "{periods}: {early:?} {late:?}");
                let share = early.n as f64 / periods as f64;
                assert!((0.35..0.7).contains(&share), "{periods}: {share}");
            }
        }
    }

    #[test]
    fn halves_are_the_same_moments_for_all_units() {
        let (mut stretches, mut old, mut new) =
            (Stretches::default(), Past::default(), Past::default());
        for start in (0..10).map(|period| 300 * period) {
            stretches.widen(start);
            old.add(stretches, start, &Sums::one(1.0));
            if start >= 2100 {
                new.add(stretches, start, &Sums::one(1.0));
            }
        }
        assert_eq!(new.halves(stretches).map(|half| half.n), [0, 3]);
        assert_eq!(old.halves(stretches).iter().map(|it| it.n).sum::<u64>(), 10);
    }
}
