//! The memory cgroup of this process (Documentation/admin-guide/cgroup-v1/memory.rst and
//! cgroup-v2.rst).

use hugewise_base::host::Cgroup;

use crate::machine::error::{Kind, Result};
use crate::machine::number;
use crate::machine::root::Root;
use crate::proc::mounts::{Mount, parse_mounts};

/// cgroup v1 represents "unlimited" by the largest multiple of a page below 2^63 (`PAGE_COUNTER_MAX`,
/// mm/page_counter.c); real limits are far smaller.
const UNLIMITED_FROM: u64 = 1 << 62;

/// The location of the memory controller of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryController {
    /// 1 or 2.
    pub version: u8,
    /// Path of the group below the mount.
    pub path: String,
    /// The mount point of the hierarchy, relative to the root of the machine.
    pub mount: String,
}

impl MemoryController {
    /// Returns the directory of the group, relative to the root of the machine.
    #[must_use]
    pub fn folder(&self) -> String {
        let path = self.path.trim_matches('/');
        if path.is_empty() {
            self.mount.clone()
        } else {
            format!("{}/{path}", self.mount)
        }
    }
}

/// A memory cgroup, and the usage of the level that limits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryGroup {
    /// The part kept in records.
    pub cgroup: Cgroup,
    /// Memory in use at the level with the smallest limit, in bytes.
    pub used_bytes: Option<u64>,
    /// Directory of that level, relative to the root of the machine.
    pub folder: String,
}

/// Parses the paths in `/proc/self/cgroup`: that of the v1 memory controller, and that of v2.
#[must_use]
pub fn parse_membership(content: &[u8]) -> (Option<String>, Option<String>) {
    let text = String::from_utf8_lossy(content);
    let (mut v1, mut v2) = (None, None);
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(id), Some(names), Some(path)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        if names.split(',').any(|name| name == "memory") {
            v1 = Some(path.to_owned());
        } else if id == "0" && names.is_empty() {
            v2 = Some(path.to_owned());
        }
    }
    (v1, v2)
}

/// Finds the memory controller: v1 if it is mounted (a hybrid system has both versions, and the controller is in one of
/// these), otherwise v2 if its root offers `memory`.
///
/// # Errors
/// `/proc/self/cgroup` or `/proc/self/mountinfo` could not be read.
pub fn read_place(root: &Root) -> Result<Option<MemoryController>> {
    read_place_of(root, "self")
}

/// Does the same for another process; `process` is its PID, as text.
fn read_place_of(root: &Root, process: &str) -> Result<Option<MemoryController>> {
    let (v1, v2) = parse_membership(&root.read(format!("proc/{process}/cgroup"))?);
    let mounts = parse_mounts(&root.read("proc/self/mountinfo")?);
    let first = v1.and_then(|path| {
        let mount = mounts
            .iter()
            .find(|mount| mount.kind == "cgroup" && mount.has_option("memory"))?;
        Some(place(1, &path, mount))
    });
    let second = v2.and_then(|path| {
        let mount = mounts.iter().find(|mount| mount.kind == "cgroup2")?;
        let found = place(2, &path, mount);
        offers_memory(root, &found).then_some(found)
    });
    Ok(first.or(second))
}

/// The files of the group decide, because `cgroup.controllers` of a container's root group lists only what may be
/// delegated further.
fn offers_memory(root: &Root, place: &MemoryController) -> bool {
    [place.folder(), place.mount.clone()].iter().any(|folder| {
        root.read_trimmed(format!("{folder}/cgroup.controllers"))
            .is_ok_and(|names| names.split_ascii_whitespace().any(|name| name == "memory"))
    })
}

/// In a container the mount may show only part of the hierarchy: its root is removed from the path.
fn place(version: u8, path: &str, mount: &Mount) -> MemoryController {
    let below = match mount.root.as_str() {
        "/" => path,
        root => path.strip_prefix(root).unwrap_or(path),
    };
    MemoryController {
        version,
        path: if below.is_empty() { "/" } else { below }.to_owned(),
        mount: mount.point.trim_start_matches('/').to_owned(),
    }
}

/// Returns the group with the smallest limit between the process's own group and the root.
///
/// # Errors
/// A limit could not be parsed, or the membership could not be read.
pub fn read_memory_group(root: &Root) -> Result<MemoryGroup> {
    read_memory_group_of(root, "self")
}

/// Does the same for another process; `process` is its PID, as text.
///
/// # Errors
/// The same as for [`read_memory_group`].
pub fn read_memory_group_of(root: &Root, process: &str) -> Result<MemoryGroup> {
    let Some(place) = read_place_of(root, process)? else {
        return Ok(MemoryGroup {
            cgroup: Cgroup {
                version: 0,
                path: "/".to_owned(),
                limit_bytes: None,
                can_make: false,
            },
            used_bytes: None,
            folder: String::new(),
        });
    };
    let own = place.folder();
    let mut smallest: Option<(u64, String)> = None;
    for folder in levels(&place) {
        let Some(limit) = read_limit(root, &folder, place.version)? else {
            continue;
        };
        if smallest.as_ref().is_none_or(|(least, _)| limit < *least) {
            smallest = Some((limit, folder));
        }
    }
    let (limit_bytes, folder) = match smallest {
        Some((limit, folder)) => (Some(limit), folder),
        None => (None, own),
    };
    let used = format!("{folder}/{}", usage_file(place.version));
    Ok(MemoryGroup {
        used_bytes: number::read(root, used).ok(),
        cgroup: Cgroup {
            version: place.version,
            path: place.path,
            limit_bytes,
            can_make: false,
        },
        folder,
    })
}

/// Returns the name of the file with the memory in use.
#[must_use]
pub fn usage_file(version: u8) -> &'static str {
    if version == 1 {
        "memory.usage_in_bytes"
    } else {
        "memory.current"
    }
}

/// Returns the directories from a group up to the mount, including both.
#[must_use]
pub fn levels(place: &MemoryController) -> Vec<String> {
    let mut folder = place.folder();
    let mut levels = vec![folder.clone()];
    while folder.len() > place.mount.len() {
        let Some((parent, _)) = folder.rsplit_once('/') else {
            break;
        };
        folder = parent.to_owned();
        levels.push(folder.clone());
    }
    levels
}

/// Returns `None` if there is no limit: either the file says so, or the level has no such file, like the root of v2.
fn read_limit(root: &Root, folder: &str, version: u8) -> Result<Option<u64>> {
    let file = if version == 1 {
        "memory.limit_in_bytes"
    } else {
        "memory.max"
    };
    let path = format!("{folder}/{file}");
    match root.read_trimmed(&path) {
        Ok(text) if text == "max" => Ok(None),
        Ok(_) => Ok(Some(number::read(root, path)?).filter(|&limit| limit < UNLIMITED_FROM)),
        Err(error) if error.kind == Kind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;

    #[test]
    fn a_hybrid_system_keeps_memory_in_version_1() {
        let (_folder, root) = machine_of(&[
            ("proc/self/cgroup", "4:memory:/a/b\n1:cpu:/\n0::/\n"),
            (
                "proc/self/mountinfo",
                "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            ),
            (
                "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1048576\n"),
            ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "4096\n"),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
        ]);
        let group = read_memory_group(&root).unwrap();
        assert_eq!(group.cgroup.version, 1);
        assert_eq!(group.cgroup.path, "/a/b");
        assert_eq!(group.cgroup.limit_bytes, Some(1_048_576));
        assert_eq!(group.used_bytes, Some(4096));
        assert_eq!(group.folder, "sys/fs/cgroup/memory/a");
    }

    #[test]
    fn a_container_sees_a_part_of_version_2() {
        let (_folder, root) = machine_of(&[
            ("proc/self/cgroup", "0::/docker/x/app\n"),
            (
                "proc/self/mountinfo",
                "41 31 0:38 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n"),
            ("sys/fs/cgroup/memory.max", "2097152\n"),
            ("sys/fs/cgroup/app/memory.max", "max\n"),
        ]);
        let group = read_memory_group(&root).unwrap();
        assert_eq!(group.cgroup.version, 2);
        assert_eq!(group.cgroup.path, "/app");
        assert_eq!(group.cgroup.limit_bytes, Some(2_097_152));
    }

    #[test]
    fn no_controller_is_version_0() {
        let (_folder, root) = machine_of(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", "\n"),
        ]);
        assert_eq!(read_memory_group(&root).unwrap().cgroup.version, 0);
    }

    #[test]
    fn a_limit_that_is_no_number_is_an_error_with_its_path() {
        let (_folder, root) = machine_of(&[
            ("proc/self/cgroup", "0::/\n"),
            (
                "proc/self/mountinfo",
                "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/cgroup.controllers", "memory\n"),
            ("sys/fs/cgroup/memory.max", "lots\n"),
        ]);
        let error = read_memory_group(&root).unwrap_err().to_string();
        assert!(error.contains("memory.max"), "{error}");
    }
}
