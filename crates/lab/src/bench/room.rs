//! How much memory may be used without bringing the machine, or the cgroup, to its end.

use std::fs;
use std::path::{Path, PathBuf};

use super::line::Reason;
use crate::region::huge_bytes;

/// Of all memory, the part that is always left to others.
const RESERVE_PARTS: u64 = 8;

/// What may be used, and what sets the bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Bytes.
    pub(crate) bytes: u64,
    /// What sets it, as people would look it up.
    pub(crate) bound: String,
}

/// What may be used now: what the machine has available, and what every memory cgroup above
/// this process has left, less an eighth of the machine's memory or of the cgroup's limit.
///
/// # Errors
/// `/proc/meminfo` could not be read or does not tell.
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
    let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = cgroups
        .lines()
        .filter_map(group_of)
        .flat_map(|group| group.rooms());
    Ok(groups
        .chain([machine.clone()])
        .min_by_key(|room| room.bytes)
        .unwrap_or(machine))
}

/// Refuses what there is no room for, before any of it is taken.
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

/// Makes this process the first to be ended where memory runs out all the same.
pub(crate) fn be_first_to_go() {
    // Only a precaution: without it the kernel chooses by size, which is this process too.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
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

/// A field of `/proc/meminfo`, in bytes.
fn meminfo(text: &str, name: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// A memory cgroup of either version.
struct Group {
    mount: PathBuf,
    path: PathBuf,
    files: &'static Files,
}

/// What the files of a version are called.
struct Files {
    limit: &'static str,
    used: &'static str,
    /// Page cache that was not used lately, in `memory.stat`: it goes before anybody is killed.
    cache: &'static str,
}

static V1: Files = Files {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: "total_inactive_file ",
};

static V2: Files = Files {
    limit: "memory.max",
    used: "memory.current",
    cache: "inactive_file ",
};

/// From a line of `/proc/self/cgroup`: `9:memory:/path` or `0::/path`.
fn group_of(line: &str) -> Option<Group> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let (mount, files) = if controllers.split(',').any(|each| each == "memory") {
        ("/sys/fs/cgroup/memory", &V1)
    } else if controllers.is_empty() {
        ("/sys/fs/cgroup", &V2)
    } else {
        return None;
    };
    Some(Group {
        mount: mount.into(),
        path: path.trim_start_matches('/').into(),
        files,
    })
}

impl Group {
    /// What the group and each above it leave; one without a limit bounds nothing.
    fn rooms(&self) -> Vec<Room> {
        let above = self.path.ancestors();
        above
            .filter_map(|path| self.room(&self.mount.join(path)))
            .collect()
    }

    fn room(&self, folder: &Path) -> Option<Room> {
        let read = |name| fs::read_to_string(folder.join(name)).ok();
        // Without a limit version 2 says `max`, and version 1 a number close to 2^63.
        let limit: u64 = read(self.files.limit)?.trim().parse().ok()?;
        let used: u64 = read(self.files.used)?.trim().parse().ok()?;
        let stat = read("memory.stat").unwrap_or_default();
        let cache = stat
            .lines()
            .find_map(|line| line.strip_prefix(self.files.cache));
        let cache: u64 = cache.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let left = limit.saturating_sub(used.saturating_sub(cache));
        Some(Room {
            bytes: left.saturating_sub(limit / RESERVE_PARTS),
            bound: folder.join(self.files.limit).display().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(folder: &Path, files: &'static Files, content: [&str; 3]) -> Option<Room> {
        let inner = folder.join("a/b");
        fs::create_dir_all(&inner).unwrap();
        for (name, text) in [files.limit, files.used, "memory.stat"].iter().zip(content) {
            fs::write(inner.join(name), text).unwrap();
        }
        let group = Group {
            mount: folder.to_owned(),
            path: "a/b".into(),
            files,
        };
        group.rooms().into_iter().next()
    }

    #[test]
    fn a_limit_leaves_what_is_not_used_but_an_eighth() {
        let folder = std::env::temp_dir().join(format!("hugewise-room-{}", std::process::id()));
        let room = group(
            &folder,
            &V2,
            ["8000\n", "3000\n", "anon 1\ninactive_file 500\n"],
        );
        assert_eq!(room.map(|room| room.bytes), Some(8000 - 2500 - 1000));
        let room = group(&folder, &V2, ["max\n", "3000\n", ""]);
        assert_eq!(room, None);
        let room = group(&folder, &V1, ["8000\n", "7900\n", ""]);
        assert_eq!(room.map(|room| room.bytes), Some(0));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn groups_are_found_by_version() {
        let found = |line| group_of(line).map(|group| (group.path, group.files.limit));
        let path = PathBuf::from;
        assert_eq!(found("9:memory:/x/y"), Some((path("x/y"), V1.limit)));
        assert_eq!(found("0::/"), Some((path(""), V2.limit)));
        assert_eq!(found("3:cpu,cpuacct:/x"), None);
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
