//! A part of an address space.

/// From its first address to the first one after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Range {
    pub(super) const fn of(start: u64, bytes: u64) -> Self {
        let end = start.saturating_add(bytes);
        Self { start, end }
    }

    pub(super) const fn bytes(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns the intersection; its length is 0 if there is none.
    pub(super) fn common(self, other: Self) -> Self {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        Self { start, end }
    }

    /// Returns the length of the intersection in bytes.
    pub(super) fn shared(self, other: Self) -> u64 {
        self.common(other).bytes()
    }
}
