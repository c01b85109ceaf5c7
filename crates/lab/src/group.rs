//! The memory cgroups of this process, of either version.

use std::fs;
use std::path::{Path, PathBuf};

/// A limit above this means unlimited: version 1 writes that as a number close to 2^63.
const UNLIMITED: u64 = 1 << 50;

/// A memory cgroup of either version.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    mount: PathBuf,
    path: PathBuf,
    files: &'static Files,
}

/// The file names of a version.
#[derive(Debug)]
struct Files {
    limit: &'static str,
    used: &'static str,
    reclaim: &'static str,
    /// Inactive page cache in `memory.stat`: the kernel reclaims it before it kills a process.
    cache: &'static str,
}

static V1: Files = Files {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    reclaim: "memory.force_empty",
    cache: "total_inactive_file ",
};

static V2: Files = Files {
    limit: "memory.max",
    used: "memory.current",
    reclaim: "memory.reclaim",
    cache: "inactive_file ",
};

/// The memory cgroups of this process, without their ancestors.
pub(crate) fn own_groups() -> Vec<Group> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    text.lines().filter_map(group_of).collect()
}

/// Parses a line of `/proc/self/cgroup`: `9:memory:/path` or `0::/path`.
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
    /// The group and its ancestors.
    pub(crate) fn and_above(&self) -> impl Iterator<Item = Self> {
        self.path.ancestors().map(|path| Self {
            path: path.to_owned(),
            ..self.clone()
        })
    }

    /// The file that holds its limit.
    pub(crate) fn limit_file(&self) -> PathBuf {
        self.file(self.files.limit)
    }

    /// Its limit in bytes; `None` if it has none or it is unreadable.
    pub(crate) fn limit(&self) -> Option<u64> {
        // Version 2 writes `max` for no limit.
        number(&self.limit_file()).filter(|&limit| limit < UNLIMITED)
    }

    /// Bytes charged to it and its descendants.
    pub(crate) fn used(&self) -> Option<u64> {
        number(&self.file(self.files.used))
    }

    /// Bytes of inactive page cache among the used bytes.
    pub(crate) fn idle_cache(&self) -> Option<u64> {
        let stat = fs::read_to_string(self.file("memory.stat")).ok()?;
        let mut lines = stat.lines();
        let told = lines.find_map(|line| line.strip_prefix(self.files.cache))?;
        told.trim().parse().ok()
    }

    /// Asks the kernel to reclaim as much as possible. Reclaiming less is not an error.
    ///
    /// # Errors
    /// The name of the file that this kernel does not have.
    pub(crate) fn reclaim(&self) -> Result<(), &'static str> {
        let file = self.file(self.files.reclaim);
        if !file.exists() {
            return Err(self.files.reclaim);
        }
        let _ = fs::write(file, self.limit().unwrap_or(UNLIMITED).to_string());
        Ok(())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.mount.join(&self.path).join(name)
    }
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The group `a/b` of version 2 or 1 in a folder, with these files.
    pub(crate) fn frozen(folder: &Path, version: u8, content: [&str; 3]) -> Group {
        let files = if version == 2 { &V2 } else { &V1 };
        let inner = folder.join("a/b");
        fs::create_dir_all(&inner).unwrap();
        for (name, text) in [files.limit, files.used, "memory.stat"].iter().zip(content) {
            fs::write(inner.join(name), text).unwrap();
        }
        Group {
            mount: folder.to_owned(),
            path: "a/b".into(),
            files,
        }
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
    fn a_group_tells_its_numbers_and_what_is_no_limit() {
        let folder = tempfile::tempdir().unwrap();
        let stat = "anon 1\ninactive_file 500\ntotal_inactive_file 700\n";
        let two = frozen(folder.path(), 2, ["8000\n", "3000\n", stat]);
        assert_eq!((two.limit(), two.used()), (Some(8000), Some(3000)));
        assert_eq!(two.idle_cache(), Some(500));
        assert_eq!(two.reclaim(), Err("memory.reclaim"));
        let one = frozen(folder.path(), 1, ["9223372036854771712\n", "5\n", stat]);
        assert_eq!((one.limit(), one.used()), (None, Some(5)));
        assert_eq!(one.idle_cache(), Some(700));
        let unlimited = frozen(folder.path(), 2, ["max\n", "x\n", ""]);
        assert_eq!((unlimited.limit(), unlimited.used()), (None, None));
        assert_eq!(unlimited.idle_cache(), None);
        let above: Vec<PathBuf> = two.and_above().map(|group| group.path).collect();
        assert_eq!(above, ["a/b", "a", ""].map(PathBuf::from));
    }

    #[test]
    fn reclaim_is_asked_for_as_much_as_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let group = frozen(folder.path(), 2, ["8000\n", "3000\n", ""]);
        let file = folder.path().join("a/b/memory.reclaim");
        fs::write(&file, "").unwrap();
        assert_eq!(group.reclaim(), Ok(()));
        assert_eq!(fs::read_to_string(file).unwrap(), "8000");
    }
}
