use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

/// The median of a growing series of positive numbers, equal to `median_of_sorted` of the series. A record can have
/// thousands of rounds, and each is evaluated again for every tested shift.
///
/// The bits of positive numbers are in the order of the numbers.
#[derive(Debug, Default)]
pub(crate) struct RunningMedian {
    /// The lower half.
    below: BinaryHeap<u64>,
    /// The upper half, with as many values as the lower one or one more.
    above: BinaryHeap<Reverse<u64>>,
}

impl RunningMedian {
    pub(crate) fn push(&mut self, value: f64) {
        let bits = value.to_bits();
        if self.above.len() > self.below.len() {
            // The smallest value of the upper half and the new one moves down.
            let lower = match self.above.peek_mut() {
                Some(mut smallest) if smallest.0 < bits => mem::replace(&mut smallest.0, bits),
                _ => bits,
            };
            self.below.push(lower);
        } else {
            // The largest value of the lower half and the new one moves up.
            let upper = match self.below.peek_mut() {
                Some(mut largest) if *largest > bits => mem::replace(&mut *largest, bits),
                _ => bits,
            };
            self.above.push(Reverse(upper));
        }
    }

    pub(crate) fn middle(&self) -> Option<f64> {
        let upper = f64::from_bits(self.above.peek()?.0);
        if self.above.len() > self.below.len() {
            return Some(upper);
        }
        let lower = f64::from_bits(*self.below.peek()?);
        Some(lower / 2.0 + upper / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile::median_of_sorted;

    #[test]
    fn it_is_the_median_after_every_number() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut running, mut all) = (RunningMedian::default(), Vec::new());
        assert_eq!(running.middle(), None);
        for _ in 0..500 {
            let value = f64::from(random.u32(1..100)) / 7.0;
            running.push(value);
            all.push(value);
            all.sort_unstable_by(f64::total_cmp);
            assert_eq!(running.middle(), median_of_sorted(&all));
        }
    }
}
