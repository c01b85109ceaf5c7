//! `/sys/devices/system/{cpu,node}`: processors and NUMA nodes.

use crate::machine::error::{Error, Kind, Result};
use crate::machine::number;
use crate::machine::root::Root;

/// Returns how many numbers are in a list such as `0-3,8,10-11`.
///
/// # Errors
/// A sentence that quotes the malformed part.
pub fn parse_list(content: &[u8]) -> std::result::Result<u32, String> {
    let text = String::from_utf8_lossy(content);
    let mut count: u32 = 0;
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let size = parse_range(part)
            .ok_or_else(|| format!("expected 0-3,8, found `{}`", number::shorten(part)))?;
        count = count.saturating_add(size);
    }
    Ok(count)
}

/// Returns the numbers in a list.
///
/// # Errors
/// The same as for [`parse_list`]; also if there are more than 65,536.
pub fn parse_members(content: &[u8]) -> std::result::Result<Vec<u32>, String> {
    const MOST: u32 = 1 << 16;
    if parse_list(content)? > MOST {
        return Err(format!("more than {MOST} numbers"));
    }
    let text = String::from_utf8_lossy(content);
    let parts = text.trim().split(',').filter(|part| !part.is_empty());
    let bounds = parts.filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse().ok()?)
    });
    Ok(bounds.flatten().collect())
}

fn parse_range(part: &str) -> Option<u32> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    last.checked_sub(first)?.checked_add(1)
}

/// Returns the number of online processors; `None` if the kernel does not show it.
///
/// # Errors
/// The file exists but could not be parsed.
pub fn read_online(root: &Root) -> Result<Option<u32>> {
    read_list(root, "sys/devices/system/cpu/online")
}

/// Returns the numbers of the online processors; empty if the kernel does not show them.
///
/// # Errors
/// The file exists but could not be parsed.
pub fn read_online_members(root: &Root) -> Result<Vec<u32>> {
    let path = "sys/devices/system/cpu/online";
    let content = match root.read(path) {
        Err(error) if error.kind == Kind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    parse_members(&content).map_err(|what| Error::malformed(&root.path(path), what))
}

/// Returns the number of NUMA nodes with memory; 1 if the kernel has no nodes.
///
/// # Errors
/// The file exists but could not be parsed.
pub fn read_memory_nodes(root: &Root) -> Result<u32> {
    Ok(read_list(root, "sys/devices/system/node/has_memory")?.unwrap_or(1))
}

/// Reads `scaling_governor` of processor 0; `None` if this machine does not control frequencies.
#[must_use]
pub fn read_governor(root: &Root) -> Option<String> {
    root.read_trimmed("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        .ok()
        .filter(|name| !name.is_empty())
}

fn read_list(root: &Root, path: &str) -> Result<Option<u32>> {
    let content = match root.read(path) {
        Err(error) if error.kind == Kind::NotFound => return Ok(None),
        other => other?,
    };
    match parse_list(&content) {
        Ok(0) => Err(Error::malformed(&root.path(path), "the list is empty")),
        Ok(count) => Ok(Some(count)),
        Err(what) => Err(Error::malformed(&root.path(path), what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_ranges_and_single_numbers() {
        assert_eq!(parse_list(b"0-1\n"), Ok(2));
        assert_eq!(parse_list(b"0-3,8,10-11"), Ok(7));
        assert_eq!(parse_list(b"\n"), Ok(0));
        assert_eq!(parse_members(b"0-2,8\n"), Ok(vec![0, 1, 2, 8]));
        assert!(parse_members(b"0-99999").is_err());
        for bad in [&b"3-1"[..], b"a", b"0-", b"-", b"0-4294967295"] {
            assert!(parse_list(bad).is_err(), "{bad:?}");
        }
    }
}
