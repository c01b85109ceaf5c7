//! Facts and their values in sentences.

use super::remainder::Sense;
use crate::fact::Value;
use hugewise_base::units::bytes_text;

/// A boolean fact, as a sentence.
pub(super) fn boolean(name: &str, sense: Sense) -> String {
    let (asked, denied) = match name {
        "process.static" => ("it is linked statically", "it is linked dynamically"),
        "process.thp_disabled" => (
            "huge pages are switched off for it",
            "huge pages are not switched off for it",
        ),
        "thp.mthp" => ("smaller folios are on", "smaller folios are off"),
        "thp.shrink_underused" => (
            "the shrinker of huge pages is on",
            "the shrinker of huge pages is off",
        ),
        "host.container" => ("it runs in a container", "it runs in no container"),
        "cgroup.hugetlb_accounting" => (
            "cgroups count pages of the pool",
            "cgroups do not count pages of the pool",
        ),
        "process.raises_rights" => (
            "it gains rights when it starts (set-user-ID)",
            "it gains no rights when it starts (no set-user-ID)",
        ),
        "khugepaged.defrag" => (
            "khugepaged compacts memory",
            "khugepaged does not compact memory",
        ),
        "host.virtual" => ("the machine is virtual", "the machine is not virtual"),
        "cgroup.kubernetes" => ("it runs in Kubernetes", "it does not run in Kubernetes"),
        name => {
            return match name.strip_prefix("has.") {
                Some(part) => format!("it {} {part}", sense.pick("has", "does not have")),
                None => format!("{name} is {}", sense.pick("true", "false")),
            };
        }
    };
    sense.pick(asked, denied).to_owned()
}

/// A value, with a unit if it is in bytes.
pub(super) fn shown(name: &str, value: &Value) -> String {
    match value {
        Value::Number(bytes) if name.ends_with(".bytes") => bytes_text(*bytes as u64),
        value => value.to_string(),
    }
}

/// The name of a fact in a sentence; the raw name if users know it.
pub(super) fn subject(name: &str) -> String {
    let words = match name {
        "thp.enabled" => "the THP mode",
        "thp.defrag" => "defrag",
        "thp.shmem_enabled" => "shmem_enabled",
        "thp.boot" => "transparent_hugepage= of the boot line",
        "thp.pmd.bytes" => "a huge page",
        "kernel.version" => "the version of the kernel",
        "arch" => "the architecture",
        "page.bytes" => "a small page",
        "vm.overcommit_hugepages" => "the part of the pool that is allocated on demand",
        "systemd.version" => "the version of systemd",
        "processes.hidden" => "the option of /proc that hides processes",
        "cgroup.path" => "its cgroup",
        "khugepaged.pages_to_scan" => "pages_to_scan",
        "khugepaged.scan_sleep_millisecs" => "scan_sleep_millisecs",
        "tuned.profile" => "the profile of tuned",
        "tuned.thp" => "the THP mode of tuned's profile",
        "khugepaged.max_ptes_none" => "max_ptes_none",
        "hugetlb.pool.bytes" => "the hugetlb pool",
        "hugetlb.free.bytes" => "the free part of the hugetlb pool",
        "memory.bytes" => "the memory of the machine",
        "swap.bytes" => "swap",
        "distribution.id" => "the distribution",
        "distribution.version" => "the version of the distribution",
        "app.version" => "its version",
        "argv" => "its command line",
        "process.tunables_conf" => "the part of /etc/tunables.conf for it",
        "process.rss.bytes" => "its resident memory",
        "process.anon.bytes" => "its anonymous memory",
        "process.heap.bytes" => "its main heap (brk)",
        "process.anon_huge.bytes" => "its huge anonymous memory",
        "cgroup.anon_thp.bytes" => "the huge anonymous memory of its cgroup",
        "process.shmem.bytes" => "its shared memory",
        "process.shmem_huge.bytes" => "its huge shared memory",
        "process.hugetlb.bytes" => "its memory from the hugetlb pool",
        "process.advised.bytes" => "its advised memory",
        "process.threads" => "its number of threads",
        "cgroup.memory.max.bytes" => "the limit of its cgroup",
        "cgroup.memory.bytes" => "the memory of its cgroup",
        "cgroup.hugetlb.max.bytes" => "the hugetlb limit of its cgroup",
        name => return of_family(name),
    };
    words.to_owned()
}

fn of_family(name: &str) -> String {
    let Some((family, own)) = name.split_once('.') else {
        return name.to_owned();
    };
    match family {
        "conf" => format!("its setting {own}"),
        "env" => format!("its variable {own}"),
        "flag" => format!("its flag {own}"),
        "version" => format!("the version of {own}"),
        _ => name.to_owned(),
    }
}
