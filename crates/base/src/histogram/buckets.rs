//! The edges of the buckets for durations.
//!
//! The BPF program (`crates/linux/src/bpf/latency.bpf.c`) sorts by the same two rules; a test on the running kernel
//! compares the two.

/// The number of nanosecond buckets: eight for each power of two, so that an edge is at most an eighth above the values
/// of its bucket. The last one holds all values of 73 minutes or more.
pub const FINE_SLOTS: usize = 328;

/// The number of microsecond buckets: one for each power of two, the first for values below one.
pub const MICRO_SLOTS: usize = 32;

/// Returns the bucket of a value if each power of two is split into 2^`bits` equal parts. Each value smaller than that
/// has a separate bucket.
#[must_use]
pub fn slot(value: u64, bits: u32) -> usize {
    let Some(shift) = value.checked_ilog2().and_then(|bit| bit.checked_sub(bits)) else {
        return value as usize;
    };
    let part = (value >> shift) as usize;
    ((shift as usize) << bits) + part
}

/// Returns the smallest value of such a bucket.
#[must_use]
pub fn floor(slot: usize, bits: u32) -> u64 {
    let shift = (slot >> bits).saturating_sub(1);
    ((slot - (shift << bits)) as u64) << shift
}

/// Returns the largest value of such a bucket.
#[must_use]
pub fn ceiling(slot: usize, bits: u32) -> u64 {
    let last = (64 - bits as usize + 1) << bits;
    match slot + 1 < last {
        true => floor(slot + 1, bits) - 1,
        false => u64::MAX,
    }
}

/// The resolution of the BPF program: 2^3 buckets for each power of two.
pub const FINE_BITS: u32 = 3;

/// Returns the fine bucket of a duration in nanoseconds.
#[must_use]
pub fn fine_slot(ns: u64) -> usize {
    slot(ns, FINE_BITS).min(FINE_SLOTS - 1)
}

/// Returns the smallest number of nanoseconds in a fine bucket.
#[must_use]
pub fn fine_floor(slot: usize) -> u64 {
    floor(slot, FINE_BITS)
}

/// Returns the largest number of nanoseconds in a fine bucket.
#[must_use]
pub fn fine_ceiling(slot: usize) -> u64 {
    if slot + 1 >= FINE_SLOTS {
        return u64::MAX;
    }
    ceiling(slot, FINE_BITS)
}

/// Returns the microsecond bucket of a duration in nanoseconds.
#[must_use]
pub fn micro_slot(ns: u64) -> usize {
    let us = ns / 1000;
    let slot = us.checked_ilog2().map_or(0, |bit| bit as usize + 1);
    slot.min(MICRO_SLOTS - 1)
}

/// Returns the smallest number of microseconds in a microsecond bucket.
#[must_use]
pub fn micro_floor(slot: usize) -> u64 {
    if slot == 0 { 0 } else { 1 << (slot - 1) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_duration_lies_between_the_edges_of_its_bucket(ns: u64) {
            let slot = fine_slot(ns);
            prop_assert!(slot < FINE_SLOTS);
            prop_assert!(fine_floor(slot) <= ns && ns <= fine_ceiling(slot));
            if slot + 1 < FINE_SLOTS {
                let width = fine_ceiling(slot) - fine_floor(slot) + 1;
                prop_assert!(width == 1 || width * 8 <= fine_floor(slot));
            }
        }

        #[test]
        fn microseconds_are_sorted_by_powers_of_two(ns: u64) {
            let slot = micro_slot(ns);
            prop_assert!(micro_floor(slot) <= ns / 1000);
            prop_assert!(slot + 1 == MICRO_SLOTS || ns / 1000 < micro_floor(slot + 1));
        }
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for slot in 0..FINE_SLOTS - 1 {
            assert_eq!(fine_slot(fine_floor(slot)), slot);
            assert_eq!(fine_slot(fine_ceiling(slot)), slot);
            assert_eq!(fine_ceiling(slot) + 1, fine_floor(slot + 1));
        }
        assert_eq!(fine_floor(FINE_SLOTS - 1), 15 << 39);
    }
}
