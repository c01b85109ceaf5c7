//! Hosts for tests, built from the relevant settings.

use std::collections::BTreeMap;

use hugewise_base::host::{Cgroup, Host, HugetlbPool, ThpDisable, ThpSettings, User};

/// A root shell on Linux 6.18 with the kernel's defaults and `enabled` as given.
pub fn host(enabled: &str) -> Host {
    Host {
        kernel: "6.18.0".into(),
        arch: "x86_64".into(),
        boot_line: "quiet".into(),
        boot_id: "b".into(),
        cpu_model: "cpu".into(),
        cpus: 2,
        numa_nodes: 1,
        memory_bytes: 1 << 34,
        swap_bytes: 0,
        page_bytes: 4096,
        hypervisor: None,
        governor: None,
        thp: Ok(thp_settings(enabled)),
        hugetlb: BTreeMap::from([(2 << 20, pool(0, 0))]),
        thp_disable: ThpDisable::Off,
        except_advised: true,
        can_trace: false,
        library: None,
        can_collapse: true,
        cgroup: Cgroup {
            version: 2,
            path: "/".into(),
            limit_bytes: None,
            can_make: true,
        },
        user: User {
            uid: 0,
            workload_uid: 0,
            can_write_thp: true,
        },
        glibc: Some((2, 41)),
        glibc_elf_thp: false,
        tunables: Default::default(),
        allocators: BTreeMap::from([("jemalloc".into(), "/usr/lib/libjemalloc.so.2".into())]),
        load_1min: 0.0,
        free_blocks: Vec::new(),
        balloon: None,
    }
}

fn thp_settings(enabled: &str) -> ThpSettings {
    let sizes = [(64, "never"), (1024, "never"), (2048, "inherit")];
    ThpSettings {
        enabled: enabled.into(),
        defrag: "madvise".into(),
        zero_page: true,
        pmd_bytes: 2 << 20,
        shmem_enabled: Some("never".into()),
        khugepaged: BTreeMap::from([("defrag".into(), 1), ("max_ptes_none".into(), 511)]),
        sizes: sizes.map(|(kib, mode)| (kib, mode.to_owned())).into(),
        shmem_sizes: sizes.map(|(kib, mode)| (kib, mode.to_owned())).into(),
    }
}

/// Returns a pool of free huge pages.
pub fn pool(free: u64, overcommit: u64) -> HugetlbPool {
    HugetlbPool {
        total: free,
        free,
        reserved: 0,
        overcommit,
    }
}
