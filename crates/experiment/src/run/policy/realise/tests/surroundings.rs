//! Shared memory, pools, limits and nodes.

use super::*;
use crate::base::host::HugetlbPool;

/// A pool of so many pages, some of them used.
fn pool_of(pages: u64, used: u64) -> Host {
    host("madvise").with(|host| {
        let pool = HugetlbPool {
            free: pages - used,
            ..pool(pages, 0)
        };
        host.hugetlb.insert(2 << 20, pool);
    })
}

#[test]
fn shared_memory_follows_its_own_files() {
    let own = host("madvise").with(|host| {
        let thp = host.thp.as_mut().expect("settings");
        thp.shmem_sizes.insert(2048, "never".to_owned());
    });
    #[rustfmt::skip]
    let rows = [
        ("shmem=never", host("madvise"), Reach::Process, "Leave"),
        ("shmem=always", host("madvise"), Reach::System, "Leave; shmem_enabled=always"),
        ("shmem=always", own, Reach::System,
            "Leave; hugepages-2048kB/shmem_enabled=inherit; shmem_enabled=always"),
        ("mthp_shmem=64K:always+2M:inherit", host("madvise"), Reach::System,
            "Leave; hugepages-64kB/shmem_enabled=always"),
        ("thp=never,shmem=force", host("madvise"), Reach::System, "Disable; shmem_enabled=force"),
    ];
    assert_done(rows);
}

#[test]
fn pools_limits_and_nodes_are_reached() {
    use Reach::{Process, System};
    const FILE: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
    let [four, three] = [4, 3].map(|pages| format!("Leave; {FILE}={pages}"));
    let malloc = format!("{four}; GLIBC_TUNABLES+=:glibc.malloc.hugetlb=2");
    #[rustfmt::skip]
    let rows = [
        ("hugetlb=2M:4", host("madvise"), System, four.as_str()),
        ("hugetlb=2M:4", pool_of(4, 4), Process, "Leave"),
        ("hugetlb=2M:3", pool_of(4, 3), System, &three),
        ("hugetlb=2M:4,malloc=hugetlb", host("madvise"), System, &malloc),
        ("hugetlb=2M:4", host("madvise").without_thp(), System, &four),
        ("memory-max=64M,memory-high=32M", host("never").unprivileged(), Process, "Leave"),
        ("numa=bind:0", host("never"), Process, "Leave"),
    ];
    assert_done(rows);
    let set: Policy = "memory-max=64M,numa=bind:0".parse().expect("a policy");
    let set = realise(&set, &host("never"), Process).expect("reached");
    assert_eq!(set.limits.max_bytes, Some(64 << 20));
    assert_eq!(
        set.numa.map(|numa| numa.to_string()).as_deref(),
        Some("bind:0")
    );
}

#[test]
fn an_own_tmpfs_needs_no_setting_of_the_machine() {
    let set = |text: &str, host: Host, reach| {
        let policy: Policy = text.parse().expect("a policy");
        realise(&policy, &host, reach).map_err(|obstacles| obstacles[0].to_string())
    };
    let user = || host("madvise").unprivileged();
    let reached = set("tmpfs=/dev/shm:always", user(), Reach::Process).expect("reached");
    assert_eq!(reached.tmpfs, "/dev/shm:always".parse().ok());
    assert_eq!(reached.means(), "a private mount");
    assert!(reached.files.is_empty() && !reached.is_of_machine());
    let by = |mode: &str| {
        user().with(|host| {
            host.thp.as_mut().expect("settings").shmem_enabled = Some(mode.to_owned());
        })
    };
    let library = user().preloading();
    let preloaded = "tmpfs=/tmp:never,thp=always,means=preload";
    #[rustfmt::skip]
    let rows = [
        ("tmpfs=/dev/shm:always", user(), Reach::Machine, "mount -o remount,huge=always /dev/shm"),
        ("tmpfs=/dev/shm:always", by("deny"), Reach::Process, "shmem_enabled=deny overrides"),
        ("tmpfs=/dev/shm:never", by("force"), Reach::Process, "shmem_enabled=force overrides"),
        ("tmpfs=/dev/shm:advise,thp=never", user(), Reach::Process, "thp=never keeps huge pages"),
        (preloaded, library, Reach::Process, "would not find /tmp/libhugewise.so"),
    ];
    for (text, host, reach, word) in rows {
        let refusal = set(text, host, reach).expect_err(text);
        assert!(refusal.contains(word), "{text}: {refusal}");
    }
    assert!(set("tmpfs=/dev/shm:never,thp=never", user(), Reach::Process).is_ok());
}

#[test]
fn what_a_pool_a_limit_or_a_node_lacks_is_named() {
    use Reach::{Process, System};
    let contained = || host("madvise").with(|host| host.cgroup.can_make = false);
    let old_groups = host("madvise").with(|host| host.cgroup.version = 1);
    let without = host("madvise").with(|host| host.cgroup.version = 0);
    let limited = host("madvise").with(|host| host.cgroup.limit_bytes = Some(32 << 20));
    let without_shmem = host("madvise").with(|host| {
        host.thp.as_mut().expect("settings").shmem_enabled = None;
    });
    #[rustfmt::skip]
    let rows = [
        ("hugetlb=2M:4", host("madvise"), Process, "run with --system"),
        ("hugetlb=2M:4", host("madvise").unprivileged(), Process, "run as root with --system"),
        ("hugetlb=1G:1", host("madvise"), System, "the sizes here are 2M"),
        ("hugetlb=2M:9000", host("madvise"), System, "the machine has 16 GiB"),
        ("hugetlb=2M:2", pool_of(4, 3), System, "ask for at least 3"),
        ("memory-max=64M", contained(), System, "Delegate=yes"),
        ("memory-max=64M", without, System, "CONFIG_MEMCG"),
        ("memory-max=64M", limited, System, "choose a smaller limit"),
        ("memory-high=64M", old_groups, System, "use memory-max"),
        ("memory-high=64M,memory-max=64M", host("madvise"), System, "never acts"),
        ("numa=bind:0+1", host("madvise"), System, "one memory node"),
        ("shmem=always", without_shmem, System, "no shmem_enabled"),
        ("shmem=always", host("madvise"), Process, "run with --system"),
        ("mthp_shmem=128K:always", host("madvise"), System, "sizes here are 64K, 1M, 2M"),
        ("thp=never,shmem=always", host("madvise"), System, "mthp=2M:never"),
        ("glibc.pthread.stack_hugetlb=0", host("madvise").old(), System, "it needs glibc 2.38"),
    ];
    assert_refused(rows);
}
