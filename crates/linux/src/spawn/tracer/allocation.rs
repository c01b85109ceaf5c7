//! A piece of memory obtained by a program.

use hugewise_experiment::run::site::Site;
use hugewise_experiment::run::trial::Frame;

use super::range::Range;

/// A reservation may be far larger than its used part. The parts after this many form one part.
pub(super) const MOST_PARTS: u64 = 512;

/// A range of memory, with its site.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) range: Range,
    pub(super) site: Site,
    /// The start of the memory that it is a part of.
    pub(super) base: u64,
    /// Bytes of address space added by it.
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

    /// Splits it into parts of this many bytes, in ascending order of address; each boundary is aligned to a block.
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
