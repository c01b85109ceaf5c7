//! Free memory by block size, as counted in `/proc/buddyinfo`. The index is the order; a block has 2^order base pages.

/// Returns the free memory in blocks of at least `huge_bytes`, in huge pages; a block of a higher order holds several.
/// The allocator could merge more; compaction is not predicted.
#[must_use]
pub fn free_huge_pages(blocks: &[u64], page_bytes: u64, huge_bytes: u64) -> u64 {
    let least = (huge_bytes / page_bytes.max(1)).max(1).ilog2();
    (0_u32..)
        .zip(blocks)
        .filter(|&(order, _)| order >= least)
        .map(|(order, &count)| count.saturating_mul(1_u64.checked_shl(order - least).unwrap_or(0)))
        .fold(0, u64::saturating_add)
}

/// Returns the part of free memory in blocks smaller than a huge page. The kernel calls it the unusable free space
/// index (`unusable_free_index`, mm/vmstat.c). It is 1 if nothing is free.
#[must_use]
pub fn small_block_share(blocks: &[u64], page_bytes: u64, huge_bytes: u64) -> f64 {
    let least = (huge_bytes / page_bytes.max(1)).max(1).ilog2();
    let pages = |(order, &count): (u32, &u64)| count as f64 * 2_f64.powi(order.cast_signed());
    let all: f64 = (0_u32..).zip(blocks).map(pages).sum();
    let small = (0_u32..).zip(blocks).filter(|&(order, _)| order < least);
    if all > 0.0 {
        small.map(pages).sum::<f64>() / all
    } else {
        1.0
    }
}

/// Returns the free memory in all blocks, in bytes.
#[must_use]
pub fn free_bytes(blocks: &[u64], page_bytes: u64) -> u64 {
    let bytes = |(order, &count): (u32, &u64)| {
        count.saturating_mul(page_bytes.checked_shl(order).unwrap_or(0))
    };
    (0_u32..)
        .zip(blocks)
        .map(bytes)
        .fold(0, u64::saturating_add)
}
