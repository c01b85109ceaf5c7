//! How much memory a bench may take, so that it never brings the machine down.

use std::fs;

use super::line::Reason;
use crate::region::huge_bytes;
use crate::room::room;

/// Makes this process the first to be ended where memory runs out all the same.
pub(crate) fn be_first_to_go() {
    // Only a precaution: without it the kernel chooses by size, which is this process too.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
}

/// Refuses what does not fit, with what would.
pub(crate) fn check(bytes: u64, of: &str) -> Result<(), Reason> {
    match room() {
        Ok(room) if bytes > room.bytes => Err(Reason::NotSupported(format!(
            "{bytes} bytes of memory for {of}: {} are free beyond the reserve ({})",
            room.bytes, room.bound
        ))),
        _ => Ok(()),
    }
}

/// Refuses what the pool of huge pages of a size cannot hold.
pub(crate) fn check_pool(bytes: u64, page_bytes: usize) -> Result<(), Reason> {
    let page = page_bytes as u64;
    let folder = format!("/sys/kernel/mm/hugepages/hugepages-{}kB", page / 1024);
    let read = |name: &str| {
        let text = fs::read_to_string(format!("{folder}/{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let free = read("free_hugepages")
        .ok_or_else(|| Reason::NotSupported(format!("a pool of huge pages of {page} bytes")))?;
    let reserved = read("resv_hugepages").unwrap_or(0);
    let free = free.saturating_sub(reserved);
    let needed = bytes.div_ceil(page);
    if needed > free {
        return Err(Reason::NotSupported(format!(
            "{needed} free huge pages of {page} bytes: the pool has {free}"
        )));
    }
    Ok(())
}

/// What a buffer of `bytes` takes: whole huge pages.
pub(crate) fn taken(bytes: u64) -> u64 {
    bytes.next_multiple_of(huge_bytes() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_a_page_and_not_for_everything() {
        assert_eq!(check(4096, "a page"), Ok(()));
        let refused = check(u64::MAX, "everything");
        assert!(matches!(refused, Err(Reason::NotSupported(text)) if text.contains("everything")));
    }

    #[test]
    fn a_pool_that_is_not_there_is_refused() {
        assert!(check_pool(4096, 12_288).is_err());
    }
}
