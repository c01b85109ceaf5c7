//! The memory cgroup that a plant was put into, of either version.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Trouble;

/// A limit above this is none: version 1 writes "unlimited" as a number close to 2^63.
const UNLIMITED: usize = 1 << 50;

/// A memory cgroup with a limit.
#[derive(Debug)]
pub(super) struct Group {
    folder: PathBuf,
    names: &'static Names,
    limit: usize,
}

/// What the files of a version are called.
#[derive(Debug)]
struct Names {
    limit: &'static str,
    used: &'static str,
    reclaim: &'static str,
}

const V1: Names = Names {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    reclaim: "memory.force_empty",
};

const V2: Names = Names {
    limit: "memory.max",
    used: "memory.current",
    reclaim: "memory.reclaim",
};

impl Group {
    /// The group of this process, if it has a limit of its own.
    pub(super) fn own() -> Result<Self, Trouble> {
        let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        text.lines().find_map(limited).ok_or_else(|| {
            let what = "the plant is in no memory cgroup with a limit of its own";
            Trouble::NotHere(what.to_owned())
        })
    }

    /// Bytes that it may still use.
    pub(super) fn room(&self) -> Result<usize, Trouble> {
        let used = self.read(self.names.used)?;
        Ok(self.limit.saturating_sub(used))
    }

    /// Has the kernel reclaim in it what it can. That not all can be reclaimed is no fault.
    pub(super) fn reclaim(&self) -> Result<(), Trouble> {
        let path = self.folder.join(self.names.reclaim);
        if !path.exists() {
            let what = format!("the cgroup has no {}", self.names.reclaim);
            return Err(Trouble::NotHere(what));
        }
        let _ = fs::write(path, self.limit.to_string());
        Ok(())
    }

    fn read(&self, name: &str) -> Result<usize, Trouble> {
        number(&self.folder.join(name))
            .ok_or_else(|| Trouble::NotHere(format!("the cgroup does not tell its {name}")))
    }
}

/// From a line of `/proc/self/cgroup`: `9:memory:/path` or `0::/path`.
fn limited(line: &str) -> Option<Group> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let below = path.trim_start_matches('/');
    let (mount, names) = if controllers.split(',').any(|each| each == "memory") {
        ("/sys/fs/cgroup/memory", &V1)
    } else if controllers.is_empty() {
        ("/sys/fs/cgroup", &V2)
    } else {
        return None;
    };
    let folder = Path::new(mount).join(below);
    let limit = number(&folder.join(names.limit))?;
    (limit < UNLIMITED).then_some(Group {
        folder,
        names,
        limit,
    })
}

fn number(path: &Path) -> Option<usize> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
