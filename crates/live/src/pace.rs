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

/// How long a call holds the lock of the address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// From its begin to its end.
    Throughout,
    /// Once at its begin, while all processors drain their lists of pages, and then once for each block
    /// (madvise_collapse, mm/khugepaged.c). More blocks in a call mean fewer such waits.
    BlockByBlock,
}

/// Sizes calls by the time that the last ones took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    hold: Hold,
    /// The longest that a call should take.
    limit: Duration,
    /// The most blocks of one call.
    most: usize,
    /// Blocks of the next call.
    blocks: usize,
    /// The usual time of a call of one block.
    one: Option<Duration>,
    longest: Duration,
}

impl Pace {
    /// Begins with calls of one block, up to `most` blocks.
    #[must_use]
    pub fn new(hold: Hold, limit: Duration, most: usize) -> Self {
        Self {
            hold,
            limit,
            most: most.max(1),
            blocks: 1,
            one: None,
            longest: Duration::ZERO,
        }
    }

    /// Returns how many blocks the next call should have.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Learns from a call: too long a one halves the next, a short one doubles it.
    pub fn learn(&mut self, call: Call) {
        self.longest = self.longest.max(call.took);
        if call.blocks <= 1 {
            self.one = Some(self.one.map_or(call.took, |one| (one * 3 + call.took) / 4));
        }
        let one = self.one.unwrap_or_default();
        // Beyond the first block, whose wait no other size avoids, more may take as long as that did.
        let (counted, allowed) = match self.hold {
            Hold::Throughout => (call.took, self.limit),
            Hold::BlockByBlock => (call.took.saturating_sub(one), self.limit.max(one)),
        };
        if counted > allowed {
            self.blocks = (call.blocks / 2).max(1);
        } else if counted < allowed / 2 {
            self.blocks = (call.blocks * 2).clamp(1, self.most);
        }
    }

    /// Returns the longest call since [`Pace::begin`].
    #[must_use]
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// Begins another switch: its longest call is its own.
    pub fn begin(&mut self) {
        self.longest = Duration::ZERO;
    }
}
