//! The cgroup of a process: its limits and its huge memory.

use hugewise_model::advise::fact::{Facts, Value};

use crate::machine::root::Root;
use crate::proc::mounts::parse_mounts;
use crate::sys::cgroup::read_memory_group_of;

/// What is known of the cgroup of a process.
pub(super) fn facts(root: &Root, pid: u32, host: &Facts) -> Facts {
    let mut facts = Facts::default();
    let Ok(group) = read_memory_group_of(root, &pid.to_string()) else {
        return facts;
    };
    let path = own_path(root, pid).unwrap_or(group.cgroup.path);
    facts.set("cgroup.kubernetes", path.contains("kubepods"));
    if host.get("hugetlb.pool.bytes") != Some(&Value::Number(0.0)) {
        let mount = unified_mount(root);
        let limit = mount.and_then(|mount| hugetlb_limit(root, &mount, &path));
        facts.set_known("cgroup.hugetlb.max.bytes", limit);
    }
    facts.set("cgroup.path", path);
    if !group.folder.is_empty() {
        facts.set_known("cgroup.memory.max.bytes", group.cgroup.limit_bytes);
        facts.set_known("cgroup.memory.bytes", group.used_bytes);
        facts.set_known("cgroup.anon_thp.bytes", anon_thp(root, &group.folder));
    }
    facts
}

/// Where the second version is mounted, below the root of the machine.
fn unified_mount(root: &Root) -> Option<String> {
    let mounts = parse_mounts(&root.read("proc/self/mountinfo").ok()?);
    let unified = mounts.into_iter().find(|mount| mount.kind == "cgroup2")?;
    Some(unified.point.trim_start_matches('/').to_owned())
}

/// The group of the second version, which services have; else the last that is named.
fn own_path(root: &Root, pid: u32) -> Option<String> {
    let bytes = root.read(format!("proc/{pid}/cgroup")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let paths = || text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let unified = text.lines().find_map(|line| line.strip_prefix("0::"));
    unified.or_else(|| paths().next_back()).map(str::to_owned)
}

fn anon_thp(root: &Root, folder: &str) -> Option<u64> {
    let bytes = root.read(format!("{folder}/memory.stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("anon_thp ")?.parse().ok())
}

/// The smallest limit of pages that the machine has set aside, from the group to the root. The
/// limit of a size without a pool stops nobody.
fn hugetlb_limit(root: &Root, mount: &str, path: &str) -> Option<u64> {
    let mut limits = Vec::new();
    let mut level = path.trim_end_matches('/');
    loop {
        let folder = format!("{mount}{level}");
        let names = root.list(&folder).unwrap_or_default();
        let sizes = names
            .iter()
            .filter(|name| name.starts_with("hugetlb.") && name.ends_with("B.max"));
        let sizes = sizes.filter(|name| has_pool(root, name));
        let own = sizes.filter_map(|name| root.read_trimmed(format!("{folder}/{name}")).ok());
        limits.extend(own.filter_map(|text| text.parse::<u64>().ok()));
        match level.rsplit_once('/') {
            Some((above, _)) => level = above,
            None => return limits.into_iter().min(),
        }
    }
}

/// Whether pages of the size in a name such as `hugetlb.2MB.max` are set aside.
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
        assert_eq!(hugetlb_limit(&root, "sys/fs/cgroup", "/a/b"), Some(0));
        assert_eq!(hugetlb_limit(&root, "sys/fs/cgroup", "/"), None);
    }
}
