use super::lines;
use crate::root::Root;

/// Where the memory controller of a process is mounted, and which layout it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryHierarchy {
    /// 1 or 2.
    pub version: u8,
    /// Mount point without the leading slash, relative to the root of the machine.
    pub mount: String,
}

/// Parses `/proc/self/mounts` for the hierarchy that carries the memory controller: a v1
/// mount with the option `memory`, else the v2 mount.
#[must_use]
pub fn parse_memory_hierarchy(mounts: &[u8]) -> Option<MemoryHierarchy> {
    let rows: Vec<Vec<String>> = lines(mounts)
        .map(|(_, line)| line.split_whitespace().map(str::to_owned).collect())
        .filter(|row: &Vec<String>| row.len() >= 4)
        .collect();
    let first = rows
        .iter()
        .find(|row| row[2] == "cgroup" && row[3].split(',').any(|option| option == "memory"));
    let second = || rows.iter().find(|row| row[2] == "cgroup2");
    let (version, row) = first
        .map(|row| (1, row))
        .or_else(|| second().map(|row| (2, row)))?;
    Some(MemoryHierarchy {
        version,
        mount: row[1].trim_start_matches('/').to_owned(),
    })
}

/// Parses `/proc/PID/cgroup` for the path in the memory hierarchy of `version`.
#[must_use]
pub fn parse_memory_path(bytes: &[u8], version: u8) -> Option<String> {
    lines(bytes).find_map(|(_, line)| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let mine = match version {
            1 => controllers.split(',').any(|name| name == "memory"),
            _ => controllers.is_empty(),
        };
        mine.then(|| path.to_owned())
    })
}

/// The folder of this process's memory cgroup, relative to the root, and its version.
#[must_use]
pub fn read_memory_cgroup(root: &Root) -> Option<(u8, String)> {
    let hierarchy = parse_memory_hierarchy(&root.read("proc/self/mounts").ok()?)?;
    let own = root.read("proc/self/cgroup").ok()?;
    let path = parse_memory_path(&own, hierarchy.version)?;
    let folder = format!("{}/{}", hierarchy.mount, path.trim_matches('/'));
    Some((hierarchy.version, folder.trim_end_matches('/').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hybrid_machines_have_memory_in_version_1() {
        let mounts = b"cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n\
            cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let hierarchy = parse_memory_hierarchy(mounts).unwrap();
        assert_eq!(
            (hierarchy.version, hierarchy.mount.as_str()),
            (1, "sys/fs/cgroup/memory")
        );
        let own = b"5:devices:/\n4:memory:/a/b:c\n0::/u\n";
        assert_eq!(parse_memory_path(own, 1).as_deref(), Some("/a/b:c"));
        assert_eq!(parse_memory_path(own, 2).as_deref(), Some("/u"));
    }

    #[test]
    fn unified_machines_have_version_2() {
        let mounts = b"cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        assert_eq!(parse_memory_hierarchy(mounts).unwrap().version, 2);
        assert_eq!(parse_memory_hierarchy(b"proc /proc proc rw 0 0\n"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_memory_hierarchy(&bytes);
            let _ = parse_memory_path(&bytes, 1);
        }
    }
}
