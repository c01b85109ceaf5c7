//! The cgroup of a process: its limits and its huge memory.

use hugewise_advise::fact::{Facts, Value};

use crate::machine::root::Root;
use crate::proc::mounts::{Mount, parse_mounts};
use crate::sys::cgroup::read_memory_group_of;

/// Returns the facts about the cgroup of a process.
pub(super) fn facts(root: &Root, pid: u32, host: &Facts) -> Facts {
    let mut facts = Facts::default();
    let Ok(group) = read_memory_group_of(root, &pid.to_string()) else {
        return facts;
    };
    let groups = memberships(root, pid);
    let path = own_path(&groups).map_or(group.cgroup.path, str::to_owned);
    facts.set("cgroup.kubernetes", path.contains("kubepods"));
    if host.get("hugetlb.pool.bytes") != Some(&Value::Number(0.0)) {
        let places = hugetlb_places(root, &groups, &path);
        let limits = places.iter().filter_map(|place| place.limit(root));
        facts.set_known("cgroup.hugetlb.max.bytes", limits.min());
    }
    facts.set("cgroup.path", path);
    if !group.folder.is_empty() {
        facts.set_known("cgroup.memory.max.bytes", group.cgroup.limit_bytes);
        facts.set_known("cgroup.memory.bytes", group.used_bytes);
        facts.set_known("cgroup.anon_thp.bytes", anon_thp(root, &group.folder));
    }
    facts
}

/// A group in a hierarchy with the hugetlb controller.
struct HugetlbPlace {
    /// The mount point of the hierarchy, relative to the root of the machine.
    mount: String,
    /// Path of the group below the mount.
    path: String,
    /// Suffix of the limit files.
    ending: &'static str,
}

/// Returns the group in cgroup v2, and the one in v1 if its controller is mounted.
fn hugetlb_places(root: &Root, groups: &[Membership], path: &str) -> Vec<HugetlbPlace> {
    let mounts = root.read("proc/self/mountinfo");
    let mounts = mounts.map(|text| parse_mounts(&text)).unwrap_or_default();
    let place = |mount: &Mount, path: &str, ending| HugetlbPlace {
        mount: mount.point.trim_start_matches('/').to_owned(),
        // In a container the mount may show only a part of the hierarchy.
        path: path
            .strip_prefix(mount.root.trim_end_matches('/'))
            .unwrap_or(path)
            .to_owned(),
        ending,
    };
    let unified = mounts.iter().find(|mount| mount.kind == "cgroup2");
    let first = mounts
        .iter()
        .find(|mount| mount.kind == "cgroup" && mount.has_option("hugetlb"));
    let own = first.and_then(|mount| Some((mount, path_of(groups, "hugetlb")?)));
    let unified = unified.map(|mount| place(mount, path, "B.max"));
    let first = own.map(|(mount, path)| place(mount, path, "B.limit_in_bytes"));
    unified.into_iter().chain(first).collect()
}

/// The group of a process in one hierarchy: a line of `/proc/PID/cgroup`.
struct Membership {
    /// The number of the hierarchy; 0 for v2.
    hierarchy: String,
    /// Names of its controllers, separated by commas.
    controllers: String,
    /// Path of the group.
    path: String,
}

fn memberships(root: &Root, pid: u32) -> Vec<Membership> {
    let bytes = root.read(format!("proc/{pid}/cgroup")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter_map(|line| {
        let (hierarchy, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        Some(Membership {
            hierarchy: hierarchy.to_owned(),
            controllers: controllers.to_owned(),
            path: path.to_owned(),
        })
    });
    lines.collect()
}

/// Returns the path of the group in the hierarchy of a v1 controller.
fn path_of<'a>(groups: &'a [Membership], controller: &str) -> Option<&'a str> {
    let has = |it: &&Membership| it.controllers.split(',').any(|name| name == controller);
    groups.iter().find(has).map(|it| it.path.as_str())
}

/// Returns the v2 group, which services have; otherwise the last group listed.
fn own_path(groups: &[Membership]) -> Option<&str> {
    let is_unified = |it: &&Membership| it.hierarchy == "0" && it.controllers.is_empty();
    let unified = groups.iter().find(is_unified).or_else(|| groups.last());
    unified.map(|it| it.path.as_str())
}

fn anon_thp(root: &Root, folder: &str) -> Option<u64> {
    let bytes = root.read(format!("{folder}/memory.stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("anon_thp ")?.parse().ok())
}

impl HugetlbPlace {
    /// Returns the smallest limit, in bytes, on reserved huge pages between the group and the root. Limits on page
    /// sizes without a pool are ignored, because they constrain nobody.
    fn limit(&self, root: &Root) -> Option<u64> {
        let mut limits = Vec::new();
        let mut level = self.path.trim_end_matches('/');
        loop {
            let folder = format!("{}{level}", self.mount);
            let names = root.list(&folder).unwrap_or_default();
            let sizes = names
                .iter()
                .filter(|name| name.starts_with("hugetlb.") && name.ends_with(self.ending))
                // Reservations (`rsvd`) have separate limits.
                .filter(|name| name.split('.').count() == 3);
            let sizes = sizes.filter(|name| has_pool(root, name));
            let own = sizes.filter_map(|name| root.read_trimmed(format!("{folder}/{name}")).ok());
            limits.extend(own.filter_map(|text| text.parse::<u64>().ok()));
            match level.rsplit_once('/') {
                Some((above, _)) => level = above,
                None => break,
            }
        }
        // cgroup v1 represents "unlimited" by a number close to 2^63.
        limits.into_iter().filter(|&limit| limit < 1 << 62).min()
    }
}

/// Returns true if a pool exists for the page size in a name such as `hugetlb.2MB.max`.
fn has_pool(root: &Root, name: &str) -> bool {
    let size = name.split('.').nth(1).unwrap_or_default();
    let digits = size.trim_end_matches(char::is_alphabetic);
    let unit = match &size[digits.len()..] {
        "KB" => 1,
        "MB" => 1 << 10,
        _ => 1 << 20,
    };
    let kib = digits.parse::<u64>().unwrap_or(0) * unit;
    let pool = format!("sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages");
    root.read_trimmed(pool).is_ok_and(|pages| pages != "0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;

    #[test]
    fn a_limit_counts_where_there_is_a_pool() {
        let (_folder, root) = machine_of(&[
            ("sys/fs/cgroup/a/b/hugetlb.2MB.max", "max"),
            ("sys/fs/cgroup/a/hugetlb.2MB.max", "0"),
            ("sys/fs/cgroup/a/b/hugetlb.1GB.max", "0"),
            (
                "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
                "16\n",
            ),
            (
                "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
                "0\n",
            ),
        ]);
        let limit = |path: &str| {
            let place = HugetlbPlace {
                mount: "sys/fs/cgroup".to_owned(),
                path: path.to_owned(),
                ending: "B.max",
            };
            place.limit(&root)
        };
        assert_eq!(limit("/a/b"), Some(0));
        assert_eq!(limit("/"), None);
    }

    #[test]
    fn a_limit_of_the_first_version_counts() {
        const MOUNTS: &str = "40 30 0:35 / /sys/fs/cgroup/hugetlb rw - cgroup cgroup rw,hugetlb\n\
            41 30 0:36 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let machine = |limit| {
            machine_of(&[
                ("proc/self/mountinfo", MOUNTS),
                ("proc/7/cgroup", "5:hugetlb:/a/b\n1:cpu,memory:/c\n0::/d\n"),
                (
                    "sys/fs/cgroup/hugetlb/a/b/hugetlb.2MB.limit_in_bytes",
                    limit,
                ),
                (
                    "sys/fs/cgroup/hugetlb/a/b/hugetlb.2MB.rsvd.limit_in_bytes",
                    "0",
                ),
                (
                    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
                    "16\n",
                ),
            ])
        };
        for (text, expected) in [
            ("0\n", Some(0)),
            ("4194304\n", Some(4 << 20)),
            ("9223372036852678656\n", None),
        ] {
            let (_folder, root) = machine(text);
            let places = hugetlb_places(&root, &memberships(&root, 7), "/d");
            let limits = places.iter().filter_map(|place| place.limit(&root));
            assert_eq!(limits.min(), expected, "{text}");
        }
    }
}
