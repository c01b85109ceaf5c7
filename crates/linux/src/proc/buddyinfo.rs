pub use hugewise_base::free_blocks::{free_huge_pages, small_block_share};
use hugewise_observe::machine::{Zone, free_blocks};

use super::{Parsed, lines, number};
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

/// Parses `/proc/buddyinfo` (mm/vmstat.c): free blocks by order in each zone.
///
/// # Errors
/// A line has no node or no zone, or a count is not a number.
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
/// The same as for [`parse_zones`].
pub fn parse_buddyinfo(bytes: &[u8]) -> Parsed<Vec<u64>> {
    Ok(free_blocks(&parse_zones(bytes)?))
}

/// Reads `/proc/buddyinfo`, summed over nodes and zones.
///
/// # Errors
/// It does not exist, may not be read (only root can on some systems), or could not be parsed.
pub fn read_buddyinfo(root: &Root) -> Result<Vec<u64>> {
    read(root, parse_buddyinfo)
}

/// Reads `/proc/buddyinfo`, zone by zone.
///
/// # Errors
/// The same as for [`read_buddyinfo`].
pub fn read_zones(root: &Root) -> Result<Vec<Zone>> {
    read(root, parse_zones)
}

fn read<T>(root: &Root, parse: fn(&[u8]) -> Parsed<T>) -> Result<T> {
    let bytes = root.read("proc/buddyinfo")?;
    parse(&bytes).map_err(|what| Error::malformed(&root.path("proc/buddyinfo"), what))
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
