//! Finds processes by name and by cgroup.

use std::collections::BTreeSet;
use std::path::Path;

use crate::machine::error::Result;
use crate::machine::root::Root;

/// Returns the PIDs of all processes, including kernel threads.
///
/// # Errors
/// `/proc` could not be listed.
pub fn list_processes(root: &Root) -> Result<Vec<u32>> {
    let names = root.list("proc")?;
    let mut pids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    pids.sort_unstable();
    Ok(pids)
}

/// Returns the processes with a name: the `comm` of the process, or the last component of the path by which its program
/// was called. The kernel truncates `comm` to 15 bytes.
///
/// # Errors
/// As [`list_processes`].
pub fn find_named(root: &Root, name: &str) -> Result<Vec<u32>> {
    let mut pids = list_processes(root)?;
    pids.retain(|pid| {
        let command = root.read_trimmed(format!("proc/{pid}/comm"));
        command.is_ok_and(|command| command == name) || called(root, *pid) == Some(name.to_owned())
    });
    Ok(pids)
}

fn called(root: &Root, pid: u32) -> Option<String> {
    let bytes = root.read(format!("proc/{pid}/cmdline")).ok()?;
    let first = String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next()?).into_owned();
    let name = Path::new(&first).file_name()?.to_str()?.to_owned();
    Some(name)
}

/// Returns the paths of the cgroups that contain processes, in any hierarchy, in the form of `/proc/PID/cgroup`.
///
/// # Errors
/// As [`list_processes`].
pub fn list_cgroups(root: &Root) -> Result<BTreeSet<String>> {
    let pids = list_processes(root)?;
    Ok(pids.iter().flat_map(|&pid| groups_of(root, pid)).collect())
}

fn groups_of(root: &Root, pid: u32) -> Vec<String> {
    let bytes = root.read(format!("proc/{pid}/cgroup")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let groups = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    groups
        .filter(|group| *group != "/")
        .map(str::to_owned)
        .collect()
}

/// Returns the processes in a cgroup and its descendants, in any hierarchy. `path` is the path from `/proc/PID/cgroup`,
/// with or without the leading `/`, or a directory below a cgroup mount.
///
/// # Errors
/// As [`list_processes`].
pub fn list_of_cgroup(root: &Root, path: &str) -> Result<Vec<u32>> {
    let wanted = &format!("/{}", path.trim_matches('/'));
    let mut pids = list_processes(root)?;
    pids.retain(|&pid| {
        let mut groups = groups_of(root, pid).into_iter();
        groups.any(|group| is_below(&group, wanted))
    });
    Ok(pids)
}

/// Returns true if a group is the wanted one or a descendant.
fn is_below(group: &str, wanted: &str) -> bool {
    let inside = |path: &str| {
        path.strip_prefix(wanted)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mounted = wanted
        .strip_prefix("/sys/fs/cgroup")
        .is_some_and(|below| ends_in(below, group));
    inside(group) || mounted
}

/// Returns true if a directory below the mounts ends in the path of the group or of an ancestor; the first component
/// may be the name of a controller.
fn ends_in(folder: &str, group: &str) -> bool {
    let without_controller = folder
        .trim_start_matches('/')
        .split_once('/')
        .map_or("", |(_, rest)| rest);
    [folder.trim_start_matches('/'), without_controller]
        .iter()
        .filter(|path| !path.is_empty())
        .any(|path| {
            group
                .trim_start_matches('/')
                .strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (pid, command, line, group) in [
            (7, "redis-server", "/usr/bin/redis-server\0--port\0", "/a/b"),
            (9, "python3", "/usr/local/bin/redis-server\0", "/a"),
            (10, "python3", "python3\0", "/ab"),
        ] {
            let place = folder.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("comm"), format!("{command}\n")).unwrap();
            std::fs::write(place.join("cmdline"), line).unwrap();
            let groups = format!("4:memory:{group}\n0::/\n");
            std::fs::write(place.join("cgroup"), groups).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn names_are_of_the_process_or_its_program() {
        let (_folder, root) = machine();
        assert_eq!(find_named(&root, "redis-server").unwrap(), [7, 9]);
        assert_eq!(find_named(&root, "python3").unwrap(), [9, 10]);
        assert!(find_named(&root, "redis").unwrap().is_empty());
        assert_eq!(list_processes(&root).unwrap(), [7, 9, 10]);
    }

    #[test]
    fn groups_hold_the_groups_below() {
        let (_folder, root) = machine();
        for path in [
            "/a",
            "a",
            "/a/",
            "/sys/fs/cgroup/memory/a",
            "/sys/fs/cgroup/a",
        ] {
            assert_eq!(list_of_cgroup(&root, path).unwrap(), [7, 9], "{path}");
        }
        assert_eq!(list_of_cgroup(&root, "/a/b").unwrap(), [7]);
        assert!(list_of_cgroup(&root, "/c").unwrap().is_empty());
        let groups = list_cgroups(&root).unwrap();
        assert_eq!(groups.iter().collect::<Vec<_>>(), ["/a", "/a/b", "/ab"]);
    }
}
