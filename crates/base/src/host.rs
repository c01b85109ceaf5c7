//! The machine on which an experiment ran: facts only, no decisions.
//!
//! `hugewise-linux` fills these in; the record keeps them, because a measurement without its
//! circumstances cannot be compared with another.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::missing::{Fact, fact, number_keys};
use crate::tunables::{MALLOC_HUGETLB, Tunables};

/// The folder of the THP settings, relative to the root of the machine.
pub const THP_DIR: &str = "sys/kernel/mm/transparent_hugepage";

/// The machine: the facts that an experiment uses, and that a reader needs to judge it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Host {
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// Machine name of `uname -m`, for example `x86_64`.
    pub arch: String,
    /// `/proc/cmdline`, trimmed.
    pub boot_line: String,
    /// `/proc/sys/kernel/random/boot_id`, shared by all records of one boot.
    pub boot_id: String,
    /// Processor model from `/proc/cpuinfo` (on arm64 the MIDR implementer and part).
    pub cpu_model: String,
    /// The number of online processors.
    pub cpus: u32,
    /// NUMA nodes with memory.
    pub numa_nodes: u32,
    /// `MemTotal`, in bytes.
    pub memory_bytes: u64,
    /// `SwapTotal`, in bytes.
    pub swap_bytes: u64,
    /// Size of a base page, in bytes. Never assumed to be 4096.
    pub page_bytes: u64,
    /// Name of the hypervisor when the machine is virtual, `None` on bare metal.
    pub hypervisor: Option<String>,
    /// `scaling_governor` of processor 0, if it has one.
    pub governor: Option<String>,
    /// Transparent huge pages: their settings, or the reason why there are none.
    #[serde(with = "fact")]
    pub thp: Fact<ThpSettings>,
    /// hugetlb pools, by page size in bytes.
    #[serde(with = "number_keys")]
    pub hugetlb: BTreeMap<u64, HugetlbPool>,
    /// The `PR_SET_THP_DISABLE` state that this process inherited from its parent.
    pub thp_disable: ThpDisable,
    /// True if the kernel accepts `PR_THP_DISABLE_EXCEPT_ADVISED` (tried, not guessed; 6.18).
    pub except_advised: bool,
    /// True if workloads can be traced and their calls filtered (tried, not guessed).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_trace: bool,
    /// Path of the library that makes dynamic programs advise their own memory; `None` if it cannot be installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// True if the kernel supports `MADV_COLLAPSE` (tried, not guessed; 6.1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_collapse: bool,
    /// The memory cgroup of this process.
    pub cgroup: Cgroup,
    /// The user of the program, and the user of the workloads.
    pub user: User,
    /// Version of the C library of dynamically linked programs, if it is glibc.
    pub glibc: Option<(u32, u32)>,
    /// True if that glibc can request huge pages for code (`glibc.elf.thp`, found in the file of its loader; 2.44).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub glibc_elf_thp: bool,
    /// Tunables of glibc that programs get without a policy.
    #[serde(default, skip_serializing_if = "Tunables::is_empty")]
    pub tunables: Tunables,
    /// Allocators found on the system: the path of the library, by the policy value that selects it.
    pub allocators: BTreeMap<String, String>,
    /// Load average over one minute at the start of the experiment.
    pub load_1min: f64,
    /// Free blocks at the start, by order (`/proc/buddyinfo`, summed over zones).
    pub free_blocks: Vec<u64>,
    /// The device through which the hypervisor takes memory back, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balloon: Option<Balloon>,
}

/// A balloon: the device through which a guest gives memory back to its hypervisor.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Balloon {
    /// Name of its driver.
    pub driver: String,
    /// Free blocks of at least this size are reported to the hypervisor, which takes them back (free page reporting).
    /// `None` if free memory is not reported.
    pub reported_block_bytes: Option<u64>,
}

impl Host {
    /// Returns the size of a PMD-mapped huge page in bytes, if the kernel has them.
    #[must_use]
    pub fn pmd_bytes(&self) -> Option<u64> {
        self.thp.as_ref().ok().map(|thp| thp.pmd_bytes)
    }

    /// Returns the smallest free block that the hypervisor takes back without being asked, in bytes; `None` if it takes
    /// none.
    #[must_use]
    pub fn taken_back_bytes(&self) -> Option<u64> {
        self.balloon.as_ref()?.reported_block_bytes
    }

    /// Returns the sizes of anonymous folios other than the PMD size that are not disabled, in bytes.
    #[must_use]
    pub fn folio_sizes(&self) -> Vec<u64> {
        let Ok(thp) = &self.thp else {
            return Vec::new();
        };
        let sizes = thp.sizes.keys().filter(|&&kib| kib * 1024 != thp.pmd_bytes);
        sizes
            .filter(|&&kib| thp.effective_mode(kib).is_some_and(|mode| mode != "never"))
            .map(|kib| kib * 1024)
            .collect()
    }

    /// Returns true if programs advise their heaps by default. glibc's malloc does so on Arm since 2.43 (`thp_init`,
    /// malloc/malloc.c), while `enabled` is `madvise` and no tunable says otherwise.
    #[must_use]
    pub fn malloc_advises_by_itself(&self) -> bool {
        const FIRST_GLIBC: (u32, u32) = (2, 43);
        let mode = self.thp.as_ref().ok().map(|thp| thp.enabled.as_str());
        let is_default = self.tunables.get(MALLOC_HUGETLB).is_none();
        let advises = self.arch == "aarch64" && self.glibc >= Some(FIRST_GLIBC);
        advises && is_default && mode == Some("madvise")
    }

    /// Returns true if this glibc applies `glibc.malloc.hugetlb=1` only in some processes. Until 2.37, it reads the
    /// machine's mode into a buffer with only one spare byte. It then compares the buffer as a string, but never wrote
    /// the terminating zero (`__malloc_thp_mode`, sysdeps/unix/sysv/linux/malloc-hugepages.c). The result depends on
    /// the old contents of the stack; with `LD_BIND_NOW=1` these are the same at each start of a program.
    #[must_use]
    pub fn malloc_takes_advice_by_chance(&self) -> bool {
        /// The first version with the tunable, and the last without the terminating zero.
        const GLIBC: RangeInclusive<(u32, u32)> = (2, 35)..=(2, 37);
        self.glibc.is_some_and(|version| GLIBC.contains(&version))
    }
}

/// The settings below [`THP_DIR`].
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ThpSettings {
    /// `enabled`: `always`, `madvise` or `never`.
    pub enabled: String,
    /// `defrag`: `always`, `defer`, `defer+madvise`, `madvise` or `never`.
    pub defrag: String,
    /// `use_zero_page`.
    pub zero_page: bool,
    /// `hpage_pmd_size`, in bytes.
    pub pmd_bytes: u64,
    /// `shmem_enabled`, if shared memory can be huge.
    pub shmem_enabled: Option<String>,
    /// The numeric settings in `khugepaged/`, by file name.
    pub khugepaged: BTreeMap<String, u64>,
    /// `hugepages-<N>kB/enabled` by N in KiB (Linux 6.8). Sizes that exist only for shared memory have no entry.
    #[serde(with = "number_keys")]
    pub sizes: BTreeMap<u64, String>,
    /// `hugepages-<N>kB/shmem_enabled` by N in KiB (Linux 6.11).
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        with = "number_keys"
    )]
    pub shmem_sizes: BTreeMap<u64, String>,
}

impl ThpSettings {
    /// Returns the effective mode for anonymous memory of the PMD size. The per-size file decides; `inherit` defers to
    /// the global one (`thp_vma_allowable_orders`, huge_mm.h).
    #[must_use]
    pub fn effective_pmd_mode(&self) -> &str {
        match self.sizes.get(&(self.pmd_bytes / 1024)).map(String::as_str) {
            None | Some("inherit") => &self.enabled,
            Some(own) => own,
        }
    }

    /// Returns the effective mode for anonymous folios of `kib`, if the kernel has that size.
    #[must_use]
    pub fn effective_mode(&self, kib: u64) -> Option<&str> {
        match self.sizes.get(&kib).map(String::as_str) {
            Some("inherit") => Some(&self.enabled),
            Some(own) => Some(own),
            None if kib == self.pmd_bytes / 1024 => Some(&self.enabled),
            None => None,
        }
    }

    /// Iterates over the multi-size folios (smaller than a PMD) available to some program, in KiB.
    pub fn enabled_mthp_sizes(&self) -> impl Iterator<Item = u64> + '_ {
        let pmd_kib = self.pmd_bytes / 1024;
        self.sizes
            .keys()
            .copied()
            .filter(move |&kib| kib < pmd_kib && self.effective_mode(kib) != Some("never"))
    }
}

/// One hugetlb pool (`/sys/kernel/mm/hugepages/hugepages-<N>kB`), in pages of its size.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct HugetlbPool {
    /// `nr_hugepages`.
    pub total: u64,
    /// `free_hugepages`.
    pub free: u64,
    /// `resv_hugepages`.
    pub reserved: u64,
    /// `nr_overcommit_hugepages`.
    pub overcommit: u64,
}

/// The per-process THP switch (`prctl(PR_GET_THP_DISABLE)`), which children inherit.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ThpDisable {
    /// Nothing is disabled (0).
    Off,
    /// No huge pages at all (1).
    Disabled,
    /// Only advised memory gets huge pages (3, Linux 6.18).
    ExceptAdvised,
}

/// The memory cgroup of a process.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Cgroup {
    /// 1 or 2, or 0 if no memory controller was found.
    pub version: u8,
    /// Path below the mount of the hierarchy.
    pub path: String,
    /// The smallest memory limit from this group up to the root, in bytes; `None` when unlimited.
    pub limit_bytes: Option<u64>,
    /// True if a group can be created for a trial (checked by the folder's permissions; none is created).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_make: bool,
}

/// Who runs the program.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// Effective user id of the program.
    pub uid: u32,
    /// User id of the workloads: the invoking user under sudo, else `uid`.
    pub workload_uid: u32,
    /// True if the THP files could be opened for writing (tried, without writing).
    pub can_write_thp: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::missing::Missing;

    /// A record stores the host inside a tagged enum.
    #[test]
    fn maps_by_number_survive_a_tagged_enum() {
        #[derive(Serialize, Deserialize, Debug, PartialEq)]
        #[serde(tag = "line")]
        enum Line {
            Thp {
                #[serde(with = "fact")]
                thp: Fact<ThpSettings>,
            },
        }
        let thp = ThpSettings {
            enabled: "always".to_owned(),
            defrag: "madvise".to_owned(),
            zero_page: true,
            pmd_bytes: 2 << 20,
            shmem_enabled: None,
            khugepaged: BTreeMap::new(),
            sizes: BTreeMap::from([(64, "never".to_owned())]),
            shmem_sizes: BTreeMap::from([(2048, "inherit".to_owned())]),
        };
        for thp in [Ok(thp), Err(Missing::NoHardware)] {
            let line = Line::Thp { thp };
            let json = serde_json::to_string(&line).unwrap();
            assert_eq!(serde_json::from_str::<Line>(&json).unwrap(), line);
        }
    }
}
