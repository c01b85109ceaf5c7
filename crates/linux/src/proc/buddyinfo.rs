use super::{Parsed, lines, number};
use crate::error::{Error, Result};
use crate::root::Root;

/// Parses `/proc/buddyinfo` (mm/vmstat.c): free blocks by order, summed over nodes and zones.
///
/// # Errors
/// A line has no zone or a count is not a number.
pub fn parse_buddyinfo(bytes: &[u8]) -> Parsed<Vec<u64>> {
    let mut blocks: Vec<u64> = Vec::new();
    for (at, line) in lines(bytes) {
        let (_, zone) = line
            .split_once("zone")
            .ok_or_else(|| format!("line {at}: no zone: `{line}`"))?;
        for (order, count) in zone.split_whitespace().skip(1).enumerate() {
            if blocks.len() <= order {
                blocks.push(0);
            }
            let more = number(at, &format!("order {order}"), count)?;
            blocks[order] = blocks[order].saturating_add(more);
        }
    }
    Ok(blocks)
}

/// Reads `/proc/buddyinfo`.
///
/// # Errors
/// It is not there, may not be read (it is for root alone on some systems), or could not be
/// understood.
pub fn read_buddyinfo(root: &Root) -> Result<Vec<u64>> {
    let bytes = root.read("proc/buddyinfo")?;
    parse_buddyinfo(&bytes).map_err(|what| Error::malformed(&root.path("proc/buddyinfo"), what))
}

/// Free memory in blocks of at least `huge_bytes`, in huge pages: a block of a higher order
/// holds several. The allocator may join more; compaction is not foreseen.
#[must_use]
pub fn free_huge_pages(blocks: &[u64], page_bytes: u64, huge_bytes: u64) -> u64 {
    let least = (huge_bytes / page_bytes.max(1)).max(1).ilog2();
    (0_u32..)
        .zip(blocks)
        .filter(|&(order, _)| order >= least)
        .map(|(order, &count)| count.saturating_mul(1_u64.checked_shl(order - least).unwrap_or(0)))
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zones_are_summed_and_large_blocks_hold_several() {
        let text = b"Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3 \n\
            Node 0, zone   Normal   8443   8762   3854   1485    690    366    184     86     41     13     25 \n";
        let blocks = parse_buddyinfo(text).unwrap();
        assert_eq!(blocks[0], 8443);
        assert_eq!(&blocks[9..], [14, 28]);
        assert_eq!(free_huge_pages(&blocks, 4096, 2 << 20), 14 + 2 * 28);
        assert_eq!(free_huge_pages(&blocks, 4096, 4 << 20), 28);
        assert_eq!(free_huge_pages(&[], 0, 0), 0);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, blocks: Vec<u64>, page: u64, huge: u64) {
            let _ = parse_buddyinfo(&bytes);
            let _ = free_huge_pages(&blocks, page, huge);
        }
    }
}
