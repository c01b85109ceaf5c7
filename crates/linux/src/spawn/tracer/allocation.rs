//! A piece of memory that a program has got.

use hugewise_experiment::run::site::Site;
use hugewise_experiment::run::trial::Frame;

use super::range::Range;

/// A reservation may be far larger than what is used of it. Parts behind so many are not told apart.
pub(super) const MOST_PARTS: u64 = 512;

/// A range of memory, and what it belongs to.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) range: Range,
    pub(super) site: Site,
    /// Where the memory begins of which it is a part.
    pub(super) base: u64,
    /// Bytes of address space that are new with it.
    pub(super) new_bytes: u64,
    pub(super) chain: Vec<Frame>,
}

impl Piece {
    pub(super) fn new(range: Range, site: Site, base: u64) -> Self {
        Self {
            range,
            site,
            base,
            new_bytes: range.bytes(),
            chain: Vec::new(),
        }
    }

    /// Parts of so many bytes, by rising address: between them lie whole blocks.
    pub(super) fn cut(self, bytes: u64, block: u64) -> Vec<Self> {
        let Some(of) = self.site.arena() else {
            return vec![self];
        };
        let base = self.base - self.base % block;
        let mut parts = Vec::new();
        let mut start = self.range.start;
        while start < self.range.end {
            let number = ((start - base) / bytes).min(MOST_PARTS - 1);
            let end = match number + 1 {
                MOST_PARTS => self.range.end,
                next => self.range.end.min(base + next * bytes),
            };
            let number = u32::try_from(number + 1).unwrap_or(u32::MAX);
            let range = Range { start, end };
            parts.push(Self {
                new_bytes: self.new_bytes.min(range.bytes()),
                ..Self::new(range, Site::Part { of, number }, self.base)
            });
            start = end;
        }
        parts
    }
}
