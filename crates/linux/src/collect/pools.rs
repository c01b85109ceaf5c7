//! Counts the hugetlb pages held by a process tree, each page once.
//!
//! For each process the kernel reports the pages that only it maps and those that others also map, without naming the
//! others (`Private_Hugetlb` and `Shared_Hugetlb` of smaps, fs/proc/task_mmu.c). The pools show how many pages are in
//! use, but not who uses them. Together they give the exact number if no other program takes pages, and bounds
//! otherwise.

use std::collections::BTreeMap;

use crate::machine::root::Root;
use crate::proc::smaps_rollup::Rollup;
use crate::sys::hugetlb::read_pools;

/// The hugetlb pages in use before a trial.
#[derive(Clone, Copy, Debug)]
pub struct Pools<'a> {
    root: &'a Root,
    before: Option<u64>,
}

impl<'a> Pools<'a> {
    /// Reads the pools before the trial.
    #[must_use]
    pub fn before(root: &'a Root) -> Self {
        Self::since(root, taken(root))
    }

    /// Uses an earlier reading of the pools.
    pub(super) fn since(root: &'a Root, before: Option<u64>) -> Self {
        Self { root, before }
    }

    /// Returns the bytes held by the processes of one sample.
    pub(super) fn held(&self, processes: &BTreeMap<u32, Rollup>) -> u64 {
        let shares = Shares::of(processes);
        match shares.most_shared {
            // The pools need not be read.
            0 => shares.sum,
            _ => shares.held(self.before, taken(self.root)),
        }
    }
}

/// Returns the bytes in use in all pools; `None` if the kernel does not report it.
pub(super) fn taken(root: &Root) -> Option<u64> {
    let pools = read_pools(root).ok()?;
    let taken = pools
        .iter()
        .map(|(bytes, pool)| bytes.saturating_mul(pool.total.saturating_sub(pool.free)));
    Some(taken.fold(0, u64::saturating_add))
}

/// The hugetlb memory mapped by the processes, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shares {
    /// The sum of the memory mapped by one process only.
    private: u64,
    /// The largest shared memory of a single process.
    most_shared: u64,
    /// The sum of both over all processes: shared memory counts once per process.
    sum: u64,
}

impl Shares {
    fn of(processes: &BTreeMap<u32, Rollup>) -> Self {
        let add = |shares: Self, rollup: &Rollup| {
            let alone = rollup
                .hugetlb_bytes
                .saturating_sub(rollup.hugetlb_shared_bytes);
            Self {
                private: shares.private.saturating_add(alone),
                most_shared: shares.most_shared.max(rollup.hugetlb_shared_bytes),
                sum: shares.sum.saturating_add(rollup.hugetlb_bytes),
            }
        };
        processes.values().fold(Self::default(), add)
    }

    /// Returns the increase in used pool memory since before, limited to the range between the minimum and the maximum
    /// that the processes can hold. Without the pools, returns the minimum.
    ///
    /// A process that maps a page twice shares it with itself, so even the minimum may be too large; but it cannot
    /// exceed the amount in use.
    fn held(self, before: Option<u64>, now: Option<u64>) -> u64 {
        let least = self.private.saturating_add(self.most_shared);
        let (Some(before), Some(now)) = (before, now) else {
            return least;
        };
        now.saturating_sub(before).max(least).min(self.sum).min(now)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Builds processes from their private and shared memory, in MiB.
    fn of(processes: &[(u64, u64)]) -> BTreeMap<u32, Rollup> {
        let rollup = |&(alone, shared): &(u64, u64)| Rollup {
            hugetlb_bytes: (alone + shared) * MIB,
            hugetlb_shared_bytes: shared * MIB,
            ..Rollup::default()
        };
        (1..).zip(processes.iter().map(rollup)).collect()
    }

    /// Builds a machine with this many pages of 2 MiB and of 32 MiB in use.
    fn pools(folder: &tempfile::TempDir, small: u64, large: u64) -> Root {
        for (kib, taken) in [(2048, small), (32768, large)] {
            let pool = format!("sys/kernel/mm/hugepages/hugepages-{kib}kB");
            let pool = folder.path().join(pool);
            fs::create_dir_all(&pool).unwrap();
            for (file, number) in [
                ("nr_hugepages", taken + 5),
                ("free_hugepages", 5),
                ("resv_hugepages", 3),
                ("nr_overcommit_hugepages", 0),
            ] {
                fs::write(pool.join(file), format!("{number}\n")).unwrap();
            }
        }
        Root::at(folder.path())
    }

    #[test]
    fn what_is_shared_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = pools(&folder, 10, 1);
        let before = Pools::before(&root);
        // Three processes of a server: 30 pages belong to them, and each maps some.
        pools(&folder, 40, 1);
        assert_eq!(before.held(&of(&[(4, 40), (0, 50), (0, 30)])), 60 * MIB);
        // A larger page counts with its full size.
        pools(&folder, 40, 2);
        assert_eq!(before.held(&of(&[(4, 80), (0, 60)])), 92 * MIB);
    }

    #[test]
    fn what_others_take_or_give_back_stays_within_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let root = pools(&folder, 100, 0);
        let before = Pools::before(&root);
        let two = of(&[(4, 40), (0, 50)]);
        pools(&folder, 900, 0);
        assert_eq!(before.held(&two), 94 * MIB, "others took pages");
        pools(&folder, 60, 0);
        assert_eq!(before.held(&two), 54 * MIB, "others gave pages back");
        assert_eq!(
            before.held(&of(&[(6, 0), (2, 0)])),
            8 * MIB,
            "none is shared"
        );
    }

    #[test]
    fn a_page_that_is_mapped_thrice_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = pools(&folder, 0, 0);
        let before = Pools::before(&root);
        pools(&folder, 20, 0);
        assert_eq!(before.held(&of(&[(0, 120)])), 40 * MIB);
    }

    #[test]
    fn without_pools_it_is_what_must_be() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        fs::create_dir_all(
            folder
                .path()
                .join("sys/kernel/mm/hugepages/hugepages-2048kB"),
        )
        .unwrap();
        let before = Pools::before(&root);
        assert_eq!(before.held(&of(&[(4, 40), (1, 50)])), 55 * MIB);
    }

    proptest! {
        #[test]
        fn it_is_never_more_than_the_sum_nor_than_is_taken(
            processes in prop::collection::vec((any::<u32>(), any::<u32>()), 0..5),
            before: Option<u64>,
            now: Option<u64>,
        ) {
            let processes: Vec<(u64, u64)> = processes
                .iter()
                .map(|&(alone, shared)| (alone.into(), shared.into()))
                .collect();
            let shares = Shares::of(&of(&processes));
            let held = shares.held(before, now);
            prop_assert!(held <= shares.sum);
            prop_assert!(before.and(now).is_none_or(|now| held <= now));
        }
    }
}
