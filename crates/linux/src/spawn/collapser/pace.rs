//! Controls how long a thread is stopped, and how long it then runs.

use std::time::{Duration, Instant};

/// The initial and the maximum size of one call, in bytes.
const FIRST_BYTES: u64 = 8 << 20;
const MOST_BYTES: u64 = 64 << 20;
const LEAST_BYTES: u64 = 1 << 20;
/// The target for the longest stop; after a longer one, the next call is smaller.
const LONGEST_STOP: Duration = Duration::from_millis(20);
/// The pause before the next attempt at a suitable moment.
const PAUSE: Duration = Duration::from_millis(10);

/// The pace of calls in one tree.
#[derive(Debug)]
pub(super) struct Pace {
    /// The size of the next call, in bytes; at least one block.
    pub(super) most: u64,
    not_before: Instant,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            most: FIRST_BYTES,
            not_before: Instant::now(),
        }
    }

    /// Returns the remaining pause before the next call.
    pub(super) fn rest(&self) -> Duration {
        self.not_before.saturating_duration_since(Instant::now())
    }

    /// Records that a thread was stopped for a call, and must now run as long.
    pub(super) fn stood(&mut self, held: Duration) {
        self.not_before = Instant::now() + held;
        if held > LONGEST_STOP {
            self.most = (self.most / 2).max(LEAST_BYTES);
        } else if held < LONGEST_STOP / 2 {
            self.most = (self.most * 2).min(MOST_BYTES);
        }
    }

    /// Records an unsuitable moment.
    pub(super) fn pause(&mut self) {
        self.not_before = Instant::now() + PAUSE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_takes_long_is_followed_by_a_smaller_one() {
        let mut pace = Pace::new();
        pace.stood(Duration::from_millis(1));
        assert_eq!(pace.most, 16 << 20);
        pace.stood(Duration::from_millis(15));
        assert_eq!(pace.most, 16 << 20);
        pace.stood(Duration::from_millis(300));
        assert_eq!(pace.most, 8 << 20);
        assert!(pace.rest() > Duration::from_millis(200));
        for _ in 0..9 {
            pace.stood(Duration::ZERO);
        }
        assert_eq!(pace.most, MOST_BYTES);
    }
}
