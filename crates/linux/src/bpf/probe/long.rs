//! Individual long stalls, and sums that can be read at any moment.

use std::time::Duration;

use aya::Pod;
use aya::maps::MapError;

use super::Probe;
use crate::machine::clock::nanoseconds;

/// The capacity of the queue of one point, in stalls.
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

/// A stall that reached the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongStall {
    /// When it began, in nanoseconds of `CLOCK_MONOTONIC`.
    pub begun_ns: u64,
    /// Its duration.
    pub ns: u64,
}

/// Totals of a point since its programs were loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The sum of all durations.
    pub total_ns: u64,
    /// The number of long stalls lost because the queue was full.
    pub dropped: u64,
}

/// Returns the threshold for the programs; it exceeds every duration if no stalls are to be kept.
pub(super) fn threshold(long: Option<Duration>) -> u64 {
    long.map_or(u64::MAX, nanoseconds)
}

/// Returns the capacity of the queue.
pub(super) fn room(long: Option<Duration>) -> u32 {
    if long.is_some() { ROOM } else { 1 }
}

impl Probe {
    /// Takes the long stalls in the queue, but no more than its capacity: those that arrive during the call are taken
    /// by the next one.
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

    /// Returns the totals so far. Each number is consistent at any moment, even while a window is being written.
    pub(crate) fn totals(&self) -> Result<Totals, MapError> {
        let mut sum = Totals::default();
        for raw in self.sums.get(&0, 0)?.iter() {
            sum.total_ns += raw.total_ns;
            sum.dropped += raw.dropped;
        }
        Ok(sum)
    }
}
