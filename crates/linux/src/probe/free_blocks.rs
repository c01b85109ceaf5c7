//! `/proc/buddyinfo`, summed over zones and nodes (mm/vmstat.c, `frag_show`).

use crate::error::{Error, Kind, Result};
use crate::number;
use crate::root::Root;

const PATH: &str = "proc/buddyinfo";

/// Free blocks by order. Lines may differ in length where a zone was cut off.
///
/// # Errors
/// Line and content of the first count that is no number.
pub(super) fn parse_free_blocks(content: &[u8]) -> std::result::Result<Vec<u64>, String> {
    let text = String::from_utf8_lossy(content);
    let mut blocks: Vec<u64> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some((_, counts)) = line.split_once("zone") else {
            continue;
        };
        for (order, word) in counts.split_ascii_whitespace().skip(1).enumerate() {
            let count: u64 = word.parse().map_err(|_| {
                let (line, word) = (index + 1, number::shorten(word));
                format!("line {line}, order {order}: `{word}` is no count")
            })?;
            if blocks.len() <= order {
                blocks.resize(order + 1, 0);
            }
            blocks[order] = blocks[order].saturating_add(count);
        }
    }
    Ok(blocks)
}

/// Reads them; none where the kernel has no such file.
///
/// # Errors
/// The file is there and was not understood.
pub(super) fn read_free_blocks(root: &Root) -> Result<Vec<u64>> {
    let content = match root.read(PATH) {
        Err(error) if matches!(error.kind, Kind::NotFound | Kind::NotPermitted) => {
            return Ok(Vec::new());
        }
        other => other?,
    };
    parse_free_blocks(&content).map_err(|what| Error::malformed(&root.path(PATH), what))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zones_are_summed_by_order() {
        let content = b"Node 0, zone      DMA      0      1      3 \n\
                        Node 0, zone   Normal      2      1\n";
        assert_eq!(parse_free_blocks(content), Ok(vec![2, 2, 3]));
    }

    #[test]
    fn trouble_is_named_by_line_and_order() {
        let error = parse_free_blocks(b"Node 0, zone DMA 1 x 3\n").unwrap_err();
        assert!(error.contains("line 1, order 1"), "{error}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, counts in "zone[ 0-9a]{0,40}") {
            let _ = parse_free_blocks(&bytes);
            let _ = parse_free_blocks(counts.as_bytes());
        }
    }
}
