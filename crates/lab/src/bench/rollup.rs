//! The memory of a process, summed over its mappings.

use std::fs;

/// A field of `/proc/PID/smaps_rollup` (Linux 4.14) in bytes; `None` if the kernel does not report it.
pub(crate) fn rollup(process: u32, field: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_something_in_memory() {
        let own = std::process::id();
        let (all, share) = (rollup(own, "Rss"), rollup(own, "Pss"));
        assert!(all > Some(0) && share <= all, "{all:?} {share:?}");
        assert_eq!(rollup(own, "Rs"), None);
        assert_eq!(rollup(u32::MAX, "Rss"), None);
    }
}
