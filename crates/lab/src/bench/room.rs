//! How much memory a bench may take, so that it never brings the machine down.

use std::fs;

use super::line::Reason;
use crate::region::huge_bytes;

/// The machine keeps a sixteenth of its memory, and at least this.
const RESERVE: u64 = 256 << 20;

/// Makes this process the first to be ended where memory runs out all the same.
pub(crate) fn be_first_to_go() {
    // Only a precaution: without it the kernel chooses by size, which is this process too.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
}

/// Bytes that may still be taken: what is available on the machine and within the limits of
/// the memory cgroup, less the reserve. `None` where nothing could be read.
pub(crate) fn room() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let total = kib(&text, "MemTotal")?;
    let available = kib(&text, "MemAvailable")?;
    let limits = limits();
    let least = limits.into_iter().chain([available]).min()?;
    Some(least.saturating_sub((total / 16).max(RESERVE)))
}

/// Refuses what does not fit, with what would.
pub(crate) fn check(bytes: u64, of: &str) -> Result<(), Reason> {
    match room() {
        Some(room) if bytes > room => Err(Reason::NotSupported(format!(
            "{bytes} bytes of memory for {of}: {room} are free beyond the reserve"
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

/// How many bytes each memory cgroup above this process leaves, where it has a limit.
fn limits() -> Vec<u64> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    text.lines().flat_map(limits_of).collect()
}

/// One line of `/proc/self/cgroup`: `HIERARCHY:CONTROLLERS:PATH`.
fn limits_of(line: &str) -> Vec<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next(), fields.next().unwrap_or("/"));
    let is_memory = |list: &str| list.split(',').any(|name| name == "memory");
    let (root, limit, usage) = match controllers {
        Some("") => ("/sys/fs/cgroup", "memory.max", "memory.current"),
        Some(list) if is_memory(list) => (
            "/sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
        ),
        _ => return Vec::new(),
    };
    let mut left = Vec::new();
    let mut place = path.trim_end_matches('/');
    loop {
        let read = |name: &str| {
            let text = fs::read_to_string(format!("{root}{place}/{name}")).ok()?;
            text.trim().parse::<u64>().ok()
        };
        if let (Some(limit), Some(usage)) = (read(limit), read(usage)) {
            left.push(limit.saturating_sub(usage));
        }
        match place.rfind('/') {
            Some(end) => place = &place[..end],
            None => return left,
        }
    }
}

fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
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
        assert!(room().is_some_and(|room| room < u64::MAX / 2));
        assert_eq!(check(4096, "a page"), Ok(()));
        let refused = check(u64::MAX, "everything");
        assert!(matches!(refused, Err(Reason::NotSupported(text)) if text.contains("everything")));
    }

    #[test]
    fn a_pool_that_is_not_there_is_refused() {
        assert!(check_pool(4096, 12_288).is_err());
    }

    #[test]
    fn lines_of_other_controllers_have_no_limit() {
        assert_eq!(limits_of("4:cpu,cpuacct:/x"), Vec::<u64>::new());
        assert_eq!(limits_of(""), Vec::<u64>::new());
    }
}
