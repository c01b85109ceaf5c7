//! The cgroups below the mount of version 2, with what their memory controllers say.

use std::fs;

use hugewise_model::observe::watch::Group;

use crate::machine::error::{Error, Result};
use crate::machine::root::Root;
use crate::proc::mounts::parse_mounts;
use crate::proc::vmstat::parse_vmstat;

/// Deeper levels belong to the group above them.
const LEVELS: usize = 5;
/// So many groups are read at most.
const MOST: usize = 200;

/// Reads the groups, parents before children; none where there is no version 2.
pub(super) fn read(root: &Root) -> Result<Vec<Group>> {
    let mounts = parse_mounts(&root.read("proc/self/mountinfo")?);
    let Some(mount) = mounts.iter().find(|mount| mount.kind == "cgroup2") else {
        return Ok(Vec::new());
    };
    let mut groups = Vec::new();
    read_below(root, mount.point.trim_matches('/'), "", LEVELS, &mut groups);
    Ok(groups)
}

/// A group and those below it. One that goes meanwhile is left out.
fn read_below(root: &Root, mount: &str, path: &str, levels: usize, groups: &mut Vec<Group>) {
    if groups.len() >= MOST {
        return;
    }
    let folder = format!("{mount}{path}");
    if let Ok(group) = read_group(root, &folder, path) {
        groups.push(group);
    }
    if levels == 0 {
        return;
    }
    for name in folders(root, &folder) {
        read_below(root, mount, &format!("{path}/{name}"), levels - 1, groups);
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

fn read_group(root: &Root, folder: &str, path: &str) -> Result<Group> {
    let file = format!("{folder}/memory.stat");
    let stat = parse_vmstat(&root.read(&file)?)
        .map_err(|what| Error::malformed(&root.path(&file), what))?;
    let of = |name: &str| stat.get(name).copied();
    Ok(Group {
        path: if path.is_empty() { "/" } else { path }.to_owned(),
        anon_bytes: of("anon").unwrap_or(0),
        anon_huge_bytes: of("anon_thp"),
        huge_faults: of("thp_fault_alloc"),
        collapses: of("thp_collapse_alloc"),
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
        let groups = read(&root).unwrap();
        let paths: Vec<_> = groups.iter().map(|group| &*group.path).collect();
        assert_eq!(paths, ["/", "/a/x", "/b"]);
        assert_eq!(groups[0].anon_huge_bytes, Some(2048));
        assert_eq!(
            (groups[2].huge_faults, groups[2].collapses),
            (Some(3), None)
        );
    }

    #[test]
    fn without_version_two_there_are_none() {
        let (_folder, root) = machine_of(&[("proc/self/mountinfo", "")]);
        assert_eq!(read(&root).unwrap(), []);
    }
}
