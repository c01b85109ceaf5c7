//! Long stalls one by one, and sums that can be read at any moment.

use std::time::Duration;

use aya::Pod;
use aya::maps::MapError;

use super::Probe;
use crate::machine::clock::nanoseconds;

/// For how many there is room until they are taken: what the queue of one point may hold.
const ROOM: u32 = 8192;

/// `struct stall` of the programs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawStall {
    begun_ns: u64,
    ns: u64,
}

/// `struct sums` of the programs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawSums {
    total_ns: u64,
    dropped: u64,
}

// SAFETY: plain integers without padding, for which every pattern of bits is a value.
unsafe impl Pod for RawStall {}
// SAFETY: as above.
unsafe impl Pod for RawSums {}

/// A stall that was long enough to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongStall {
    /// When it began, in nanoseconds of `CLOCK_MONOTONIC`.
    pub begun_ns: u64,
    /// How long it lasted.
    pub ns: u64,
}

/// Totals of a point since its programs were loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All durations together.
    pub total_ns: u64,
    /// Long stalls for which there was no room.
    pub dropped: u64,
}

/// The programs' own threshold; larger than any duration where none is to be kept.
pub(super) fn threshold(long: Option<Duration>) -> u64 {
    long.map_or(u64::MAX, nanoseconds)
}

/// How large the queue is to be.
pub(super) fn room(long: Option<Duration>) -> u32 {
    if long.is_some() { ROOM } else { 1 }
}

impl Probe {
    /// Takes the long stalls that have come, and no more than there is room for: those that
    /// come meanwhile have a next time.
    pub(crate) fn take_long_stalls(&mut self) -> Result<Vec<LongStall>, MapError> {
        let mut taken = Vec::new();
        while taken.len() < ROOM as usize {
            match self.long.pop(0) {
                Ok(raw) => taken.push(LongStall {
                    begun_ns: raw.begun_ns,
                    ns: raw.ns,
                }),
                Err(MapError::ElementNotFound) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    /// Totals so far. Each number is consistent at any moment, also while a window is written.
    pub(crate) fn totals(&self) -> Result<Totals, MapError> {
        let mut sum = Totals::default();
        for raw in self.sums.get(&0, 0)?.iter() {
            sum.total_ns += raw.total_ns;
            sum.dropped += raw.dropped;
        }
        Ok(sum)
    }
}
