//! The size of a call, so that none holds the address space for longer than allowed.

use std::time::Duration;

/// One call: how many blocks it had, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Blocks.
    pub blocks: usize,
    /// Time in the call.
    pub took: Duration,
}

/// Sizes calls by the time that the last ones took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// The longest that a call should take.
    limit: Duration,
    /// The most blocks of one call.
    most: usize,
    /// Seconds of a block, as the last calls had it, the dear ones for longer.
    per_block: Option<f64>,
    longest: Duration,
}

/// A call is planned to take this part of the limit: times scatter.
const PLANNED: f64 = 0.5;

/// The weight of a call that was faster than expected.
const FORGETTING: f64 = 0.1;

impl Pace {
    /// Begins with calls of one block, up to so many of them.
    #[must_use]
    pub fn new(limit: Duration, most: usize) -> Self {
        Self {
            limit,
            most: most.max(1),
            per_block: None,
            longest: Duration::ZERO,
        }
    }

    /// Returns how many blocks the next call should have.
    #[must_use]
    pub fn blocks(&self) -> usize {
        let Some(per_block) = self.per_block else {
            return 1;
        };
        let fitting = self.limit.as_secs_f64() * PLANNED / per_block.max(1e-9);
        (fitting as usize).clamp(1, self.most)
    }

    /// Learns from a call.
    pub fn learn(&mut self, call: Call) {
        self.longest = self.longest.max(call.took);
        let now = call.took.as_secs_f64() / call.blocks.max(1) as f64;
        self.per_block = Some(match self.per_block {
            Some(before) if now < before => before + FORGETTING * (now - before),
            _ => now,
        });
    }

    /// Returns the longest call so far.
    #[must_use]
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// Forgets the longest call.
    pub fn begin(&mut self) {
        self.longest = Duration::ZERO;
    }
}
