use hugewise_model::observe::export::Zone;

use super::{Parsed, lines, number};
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

/// Parses `/proc/buddyinfo` (mm/vmstat.c): free blocks by order in each zone.
///
/// # Errors
/// A line has no node, no zone, or a count is not a number.
pub fn parse_zones(bytes: &[u8]) -> Parsed<Vec<Zone>> {
    lines(bytes)
        .map(|(at, line)| parse_zone(at, &line))
        .collect()
}

fn parse_zone(at: usize, line: &str) -> Parsed<Zone> {
    let (node, zone) = line
        .split_once("zone")
        .ok_or_else(|| format!("line {at}: no zone: `{line}`"))?;
    let node = node.trim().trim_start_matches("Node").trim_end_matches(',');
    let mut words = zone.split_whitespace();
    let name = words.next().unwrap_or_default().to_owned();
    let counts = words.enumerate();
    Ok(Zone {
        node: number(at, "node", node.trim())?,
        name,
        blocks: counts
            .map(|(order, count)| number(at, &format!("order {order}"), count))
            .collect::<Parsed<_>>()?,
    })
}

/// Parses `/proc/buddyinfo`: free blocks by order, summed over nodes and zones.
///
/// # Errors
/// As [`parse_zones`].
pub fn parse_buddyinfo(bytes: &[u8]) -> Parsed<Vec<u64>> {
    let mut blocks: Vec<u64> = Vec::new();
    for zone in parse_zones(bytes)? {
        blocks.resize(blocks.len().max(zone.blocks.len()), 0);
        for (sum, count) in blocks.iter_mut().zip(zone.blocks) {
            *sum = sum.saturating_add(count);
        }
    }
    Ok(blocks)
}

/// Reads `/proc/buddyinfo`, summed over nodes and zones.
///
/// # Errors
/// It is not there, may not be read (it is for root alone on some systems), or could not be
/// understood.
pub fn read_buddyinfo(root: &Root) -> Result<Vec<u64>> {
    read(root, parse_buddyinfo)
}

/// Reads `/proc/buddyinfo`, zone by zone.
///
/// # Errors
/// As [`read_buddyinfo`].
pub fn read_zones(root: &Root) -> Result<Vec<Zone>> {
    read(root, parse_zones)
}

fn read<T>(root: &Root, parse: fn(&[u8]) -> Parsed<T>) -> Result<T> {
    let bytes = root.read("proc/buddyinfo")?;
    parse(&bytes).map_err(|what| Error::malformed(&root.path("proc/buddyinfo"), what))
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

/// The part of free memory in blocks smaller than a huge page, which the kernel calls the unusable
/// free space index (`unusable_free_index`, mm/vmstat.c); 1 where nothing is free.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_small_blocks_counts_pages() {
        // One page, two of two pages, one block of 512 pages.
        let blocks = [1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        let share = small_block_share(&blocks, 4096, 2 << 20);
        assert!((share - 5.0 / 517.0).abs() < 1e-12, "{share}");
        assert_eq!(small_block_share(&[0, 0], 4096, 2 << 20), 1.0);
        assert_eq!(small_block_share(&[0; 9], 4096, 2 << 20), 1.0);
    }
    use proptest::prelude::*;

    #[test]
    fn zones_are_summed_and_large_blocks_hold_several() {
        let text = b"Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3 \n\
            Node 0, zone   Normal   8443   8762   3854   1485    690    366    184     86     41     13     25 \n";
        let zones = parse_zones(text).unwrap();
        let names = zones.iter().map(|zone| (zone.node, zone.name.as_str()));
        assert_eq!(names.collect::<Vec<_>>(), [(0, "DMA"), (0, "Normal")]);
        assert_eq!(zones[0].blocks[10], 3);
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
