//! The processor time allowed for walking processes.

use std::time::Duration;

use crate::machine::clock::thread_cpu;

/// 1/200 of a processor: together with the totals and the drawing less than 1 %.
const PARTS: u64 = 200;
/// The largest balance, and the initial one: the earnings of ten seconds.
const MOST: Duration = Duration::from_millis(50);

/// A balance: passing time earns, walks spend. One walk may make it negative.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    left_ns: i64,
    earned_to_ns: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            left_ns: signed(MOST),
            earned_to_ns: 0,
        }
    }
}

impl Budget {
    /// Adds the earnings until `now_ns`, in nanoseconds since the start.
    pub(super) fn earn(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.earned_to_ns) / PARTS;
        let earned = self.left_ns.saturating_add_unsigned(passed);
        self.left_ns = earned.min(signed(MOST));
        self.earned_to_ns = now_ns;
    }

    /// Returns true if the balance is positive.
    pub(super) fn is_left(&self) -> bool {
        self.left_ns > 0
    }

    /// Calls `act`, and deducts the processor time that it took.
    pub(super) fn pay<T>(&mut self, act: impl FnOnce() -> T) -> T {
        let before = thread_cpu();
        let done = act();
        let cost = thread_cpu().saturating_sub(before);
        self.left_ns = self.left_ns.saturating_sub(signed(cost));
        done
    }
}

fn signed(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_time_is_earned_and_little_is_saved() {
        let mut budget = Budget {
            left_ns: -10,
            earned_to_ns: 0,
        };
        budget.earn(2000);
        assert!(!budget.is_left(), "{budget:?}");
        budget.earn(2200);
        assert_eq!(budget.left_ns, 1);
        budget.earn(u64::MAX);
        assert_eq!(budget.left_ns, signed(MOST));
    }

    #[test]
    fn what_is_done_is_paid() {
        let mut budget = Budget::default();
        let mut rounds = 0_u64;
        while budget.is_left() {
            rounds += 1;
            assert!(rounds < 1_000_000, "nothing was ever paid");
            budget.pay(|| std::hint::black_box((0..10_000).sum::<u64>()));
        }
    }
}
