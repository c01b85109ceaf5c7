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
    /// (madvise_collapse, mm/khugepaged.c). More blocks in a call mean fewer waits, and no longer one.
    BlockByBlock,
}

/// Sizes the calls of one kind of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    hold: Hold,
    /// The longest that a call should hold the lock.
    limit: Duration,
    /// The most blocks of one call.
    most: usize,
    /// Blocks of the next call.
    blocks: usize,
    longest: Longest,
}

/// The longest times of one switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Longest {
    /// A call.
    pub call: Duration,
    /// The lock of the address space, held. For blocks with a hold each, it is the mean of a call.
    pub hold: Duration,
}

impl Longest {
    /// Returns the longer times of two switches.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            call: self.call.max(other.call),
            hold: self.hold.max(other.hold),
        }
    }
}

impl Pace {
    /// Begins with a call of one block, which shows what a block costs. No later call has more than `most`.
    #[must_use]
    pub fn new(hold: Hold, limit: Duration, most: usize) -> Self {
        Self {
            hold,
            limit,
            most: most.max(1),
            blocks: 1,
            longest: Longest::default(),
        }
    }

    /// Returns how many blocks the next call should have.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Learns from a call. If a call holds the lock throughout, too long a one halves the next, and a short one doubles
    /// it. If each block has its own hold, fewer blocks would not shorten it.
    pub fn learn(&mut self, call: Call) {
        let held = match self.hold {
            Hold::Throughout => call.took,
            Hold::BlockByBlock => call.took / u32::try_from(call.blocks.max(1)).unwrap_or(u32::MAX),
        };
        self.longest = self.longest.or(Longest {
            call: call.took,
            hold: held,
        });
        self.blocks = match self.hold {
            Hold::BlockByBlock => self.most,
            Hold::Throughout if held > self.limit => (call.blocks / 2).max(1),
            Hold::Throughout if held < self.limit / 2 => (call.blocks * 2).clamp(1, self.most),
            Hold::Throughout => self.blocks,
        };
    }

    /// Returns the longest times since [`Pace::begin`].
    #[must_use]
    pub fn longest(&self) -> Longest {
        self.longest
    }

    /// Begins another switch: its longest times are its own.
    pub fn begin(&mut self) {
        self.longest = Longest::default();
    }
}
