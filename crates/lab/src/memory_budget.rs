//! How much memory can be used without running the machine or the cgroup out of memory.

use std::fs;

use crate::group::{Group, own_groups};
use crate::missing::Reason;

/// The share of all memory that is left to others, as a divisor.
const RESERVE_PARTS: u64 = 8;

/// The usable memory, and what limits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Bytes.
    pub(crate) bytes: u64,
    /// The limit, by the name under which people look it up.
    pub(crate) bound: String,
}

/// The memory usable now: the machine's available memory, and the rest of every memory cgroup above this process, less
/// an eighth of the machine's memory or of the cgroup's limit.
///
/// # Errors
/// `/proc/meminfo` is unreadable or lacks a field.
pub(crate) fn room() -> Result<Room, String> {
    let text =
        fs::read_to_string("/proc/meminfo").map_err(|error| format!("/proc/meminfo: {error}"))?;
    let field =
        |name: &str| meminfo(&text, name).ok_or_else(|| format!("/proc/meminfo: no {name}"));
    let (total, available) = (field("MemTotal")?, field("MemAvailable")?);
    let machine = Room {
        bytes: available.saturating_sub(total / RESERVE_PARTS),
        bound: "MemAvailable".to_owned(),
    };
    let groups = own_groups();
    let groups = groups.iter().flat_map(Group::and_above);
    Ok(groups
        .filter_map(|group| left(&group))
        .chain([machine.clone()])
        .min_by_key(|room| room.bytes)
        .unwrap_or(machine))
}

/// Refuses a size that does not fit, before any of it is allocated.
pub(crate) fn check(bytes: u64, of: &str) -> Result<(), Reason> {
    let room = room().map_err(Reason::Unreadable)?;
    if bytes <= room.bytes {
        return Ok(());
    }
    let mib = |bytes: u64| bytes >> 20;
    Err(Reason::NotSupported(format!(
        "{} MiB of memory for {of}; {} leaves {} MiB",
        mib(bytes),
        room.bound,
        mib(room.bytes)
    )))
}

/// Makes this process the first victim of the OOM killer.
pub(crate) fn be_first_to_go() {
    // This is only a precaution: otherwise the kernel chooses the largest process, which is also this one.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
}

/// Refuses a size that exceeds the pool of huge pages of this size.
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
            "{needed} free huge pages of {} MiB: the pool has {free}, which hold {} MiB",
            page >> 20,
            free.saturating_mul(page) >> 20
        )));
    }
    Ok(())
}

/// A field of `/proc/meminfo`, in bytes.
fn meminfo(text: &str, name: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The memory that a group leaves; `None` for one without a limit.
fn left(group: &Group) -> Option<Room> {
    let (limit, used) = group.limit().zip(group.used())?;
    let used = used.saturating_sub(group.idle_cache().unwrap_or(0));
    Some(Room {
        bytes: limit
            .saturating_sub(used)
            .saturating_sub(limit / RESERVE_PARTS),
        bound: group.limit_file().display().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::tests::frozen;

    #[test]
    fn a_limit_leaves_what_is_not_used_but_an_eighth() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = |version, content| {
            let group = frozen(folder.path(), version, content);
            left(&group).map(|room| room.bytes)
        };
        let stat = "anon 1\ninactive_file 500\n";
        let limited = bytes(2, ["8000\n", "3000\n", stat]);
        assert_eq!(limited, Some(8000 - 2500 - 1000));
        assert_eq!(bytes(2, ["max\n", "3000\n", ""]), None);
        assert_eq!(bytes(1, ["8000\n", "7900\n", ""]), Some(0));
    }

    #[test]
    fn this_machine_has_room_and_keeps_some() {
        let text = fs::read_to_string("/proc/meminfo").unwrap();
        let total = meminfo(&text, "MemTotal").unwrap();
        let room = room().unwrap();
        assert!(room.bytes <= total - total / RESERVE_PARTS, "{room:?}");
    }

    #[test]
    fn there_is_room_for_a_page_and_not_for_everything() {
        assert_eq!(check(4096, "a page"), Ok(()));
        let refused = check(u64::MAX, "everything");
        let Err(Reason::NotSupported(text)) = refused else {
            panic!("must be refused");
        };
        assert!(text.contains("for everything; "), "{text}");
    }

    #[test]
    fn a_pool_that_is_not_there_is_refused() {
        assert!(check_pool(4096, 12_288).is_err());
    }
}
