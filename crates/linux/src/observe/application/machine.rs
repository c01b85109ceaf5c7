//! Facts about the machine that rules ask for, in addition to those in every record.

use hugewise_advise::fact::Facts;
use hugewise_advise::observed::{host_facts, settings};
use hugewise_base::host::Host;

use super::tuned;
use crate::machine::number;
use crate::machine::root::Root;
use crate::proc::mounts::parse_mounts;
use crate::sys::thp::read_shrink_underused;

/// Directories in which systemd keeps the library with its version in the name.
const SYSTEMD: [&str; 4] = [
    "usr/lib/systemd",
    "usr/lib/x86_64-linux-gnu/systemd",
    "usr/lib/aarch64-linux-gnu/systemd",
    "usr/lib64/systemd",
];

/// Returns the facts known about the machine. Facts that cannot be read are left out.
#[must_use]
pub fn read_machine(root: &Root, host: &Host) -> Facts {
    let mut facts = host_facts(host);
    for name in ["overcommit_memory", "swappiness"] {
        let value = number::read(root, format!("proc/sys/vm/{name}"));
        facts.set_known(format!("vm.{name}"), value.ok());
    }
    facts.set_known(
        "thp.shrink_underused",
        read_shrink_underused(root).ok().flatten(),
    );
    let release = ["etc/os-release", "usr/lib/os-release"];
    let release = release.iter().find_map(|path| root.read_trimmed(path).ok());
    for (name, value) in settings(&release.unwrap_or_default()) {
        match name {
            "ID" => facts.set("distribution.id", value),
            "VERSION_ID" => facts.set("distribution.version", value),
            _ => {}
        }
    }
    facts.set_known("systemd.version", systemd(root));
    let marks = [".dockerenv", "run/.containerenv"];
    facts.set(
        "host.container",
        marks.iter().any(|path| root.path(path).exists()),
    );
    facts.set_known("cgroup.hugetlb_accounting", hugetlb_accounting(root));
    facts.with(&tuned::facts(root))
}

/// Returns the number in `libsystemd-shared-252.so` if systemd is running.
fn systemd(root: &Root) -> Option<String> {
    let names = SYSTEMD
        .iter()
        .filter_map(|folder| root.list(folder).ok())
        .flatten();
    let mut versions = names.filter_map(|name| {
        let rest = name
            .strip_prefix("libsystemd-shared-")?
            .strip_suffix(".so")?;
        Some(rest.to_owned())
    });
    versions.next()
}

/// Returns true if hugetlb pages count towards the memory limit (cgroup v2, Linux 6.6).
fn hugetlb_accounting(root: &Root) -> Option<bool> {
    let mounts = parse_mounts(&root.read("proc/self/mountinfo").ok()?);
    let unified = mounts.iter().find(|mount| mount.kind == "cgroup2")?;
    Some(unified.has_option("memory_hugetlb_accounting"))
}
