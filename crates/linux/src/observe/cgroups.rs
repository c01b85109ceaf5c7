//! The cgroups below the mount of cgroup v2, with the values of their memory controllers.

use std::fs;

use hugewise_base::counter::Counter;
use hugewise_monitor::export::Cgroup;

use crate::machine::error::{Error, Result};
use crate::machine::root::Root;
use crate::proc::mounts::parse_mounts;
use crate::proc::vmstat::parse_vmstat;

/// Deeper levels are counted in their ancestor at this level.
const LEVELS: usize = 5;
/// The maximum number of groups read.
const MOST: usize = 200;

/// Reads the groups whose paths are `wanted`, parents before children; empty without cgroup v2.
///
/// # Errors
/// The mounts cannot be read.
pub fn read_cgroups(root: &Root, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Cgroup>> {
    let mounts = parse_mounts(&root.read("proc/self/mountinfo")?);
    let Some(mount) = mounts.iter().find(|mount| mount.kind == "cgroup2") else {
        return Ok(Vec::new());
    };
    let mut walk = Walk {
        root,
        mount: mount.point.trim_matches('/'),
        wanted,
        groups: Vec::new(),
    };
    walk.read_below("", LEVELS);
    Ok(walk.groups)
}

/// A traversal of the group hierarchy.
struct Walk<'a> {
    root: &'a Root,
    mount: &'a str,
    wanted: &'a dyn Fn(&str) -> bool,
    groups: Vec<Cgroup>,
}

impl Walk<'_> {
    /// Reads a group and its descendants. A group that is removed during the traversal is skipped.
    fn read_below(&mut self, path: &str, levels: usize) {
        if self.groups.len() >= MOST {
            return;
        }
        let folder = format!("{}{path}", self.mount);
        let name = if path.is_empty() { "/" } else { path };
        if (self.wanted)(name) {
            self.groups.extend(read_group(self.root, &folder, name));
        }
        if levels == 0 {
            return;
        }
        for below in folders(self.root, &folder) {
            self.read_below(&format!("{path}/{below}"), levels - 1);
        }
    }
}

fn folders(root: &Root, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root.path(folder))
        .into_iter()
        .flatten()
        .flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<_> = folders
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

fn read_group(root: &Root, folder: &str, path: &str) -> Result<Cgroup> {
    let file = format!("{folder}/memory.stat");
    let stat = parse_vmstat(&root.read(&file)?)
        .map_err(|what| Error::malformed(&root.path(&file), what))?;
    let of = |name: &str| stat.get(name).copied();
    Ok(Cgroup {
        path: path.to_owned(),
        anon_bytes: of("anon").unwrap_or(0),
        anon_huge_bytes: of("anon_thp"),
        huge_faults: Counter::ThpFaultAlloc.total(&stat),
        collapses: Counter::ThpCollapseAlloc.total(&stat),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;

    const MOUNT: &str = "30 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn groups_come_parents_first_and_those_without_a_controller_are_left_out() {
        let (_folder, root) = machine_of(&[
            ("proc/self/mountinfo", MOUNT),
            ("sys/fs/cgroup/memory.stat", "anon 4096\nanon_thp 2048\n"),
            ("sys/fs/cgroup/b/memory.stat", "anon 7\nthp_fault_alloc 3\n"),
            ("sys/fs/cgroup/a/cgroup.procs", ""),
            ("sys/fs/cgroup/a/x/memory.stat", "anon 1\n"),
        ]);
        let groups = read_cgroups(&root, &|_| true).unwrap();
        let paths: Vec<_> = groups.iter().map(|group| &*group.path).collect();
        assert_eq!(paths, ["/", "/a/x", "/b"]);
        assert_eq!(groups[0].anon_huge_bytes, Some(2048));
        assert_eq!(
            (groups[2].huge_faults, groups[2].collapses),
            (Some(3), None)
        );
        let wanted = read_cgroups(&root, &|path| path.starts_with("/a")).unwrap();
        assert_eq!(wanted.len(), 1);
    }

    #[test]
    fn without_version_two_there_are_none() {
        let (_folder, root) = machine_of(&[("proc/self/mountinfo", "")]);
        assert_eq!(read_cgroups(&root, &|_| true).unwrap(), []);
    }
}
