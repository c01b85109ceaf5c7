//! The processes of a workload while they ran.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::base::units::MIB;

/// The workload's processes as shown by the kernel while they ran, from the last sample that contained the largest of
/// them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ProcessTree {
    /// Number of processes in that sample.
    pub processes: u32,
    /// Number of those with `THP_enabled: 0` in `/proc/PID/status`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub thp_disabled: u32,
    /// Total anonymous memory, in bytes.
    pub anon_bytes: u64,
    /// Notable libraries (C libraries, allocators, the JVM) mapped by any process in any sample.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub libraries: BTreeSet<String>,
    /// The process with the most anonymous memory.
    pub largest: Process,
}

/// One process of a workload.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its name (`/proc/PID/comm`).
    pub name: String,
    /// Its executable (`/proc/PID/exe`); empty if it could not be read, was deleted, or is in another mount namespace.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// Its anonymous memory, in bytes.
    pub anon_bytes: u64,
    /// `THP_enabled`: false after `prctl(PR_SET_THP_DISABLE)` disabled all its huge pages. Under
    /// `PR_THP_DISABLE_EXCEPT_ADVISED` it is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thp_enabled: Option<bool>,
    /// Its advice to the kernel, if `smaps` was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
    /// Variables that affect its allocator, as they were at exec.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Its mapped notable libraries.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub libraries: BTreeSet<String>,
}

/// Anonymous memory of a process by the flags of its mappings (`VmFlags` of smaps), in bytes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// The total.
    pub anon_bytes: u64,
    /// `hg`: `MADV_HUGEPAGE`.
    pub huge_bytes: u64,
    /// `nh`: `MADV_NOHUGEPAGE`, without thread stacks.
    pub no_huge_bytes: u64,
    /// `nh` of mappings above a guard: thread stacks, which the kernel keeps small (`MAP_STACK`, since Linux 6.7).
    #[serde(default, skip_serializing_if = "is_none")]
    pub stack_bytes: u64,
    /// Whole aligned huge pages that fit into its private anonymous mappings, touched or not, in bytes: the memory that
    /// could become huge. `None` in a record from before this was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room_bytes: Option<u64>,
}

impl ProcessTree {
    /// Returns true if the largest process is representative of the whole tree: others have at most a tenth of the
    /// anonymous memory.
    #[must_use]
    pub fn is_one_program(&self) -> bool {
        let others = self.anon_bytes.saturating_sub(self.largest.anon_bytes);
        others <= self.anon_bytes / 10
    }
}

impl Process {
    /// Returns the anonymous memory with `MADV_NOHUGEPAGE` and the total, in bytes, if it is most of the total.
    #[must_use]
    pub fn advised_against(&self) -> Option<(u64, u64)> {
        self.mostly(|advice| advice.no_huge_bytes)
    }

    /// Returns the anonymous memory of thread stacks and the total, in bytes, if it is most of the total.
    #[must_use]
    pub fn thread_stacks(&self) -> Option<(u64, u64)> {
        self.mostly(|advice| advice.stack_bytes)
    }

    /// Returns a part of the anonymous memory and the total, if the part is more than half. Less than 2 MiB holds no
    /// huge page and does not count.
    fn mostly(&self, part: impl Fn(Advice) -> u64) -> Option<(u64, u64)> {
        let advice = self.advice?;
        let least = (2 * MIB).max(advice.anon_bytes / 2);
        let part = part(advice);
        (part > least).then_some((part, advice.anon_bytes))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(bytes: &u64) -> bool {
    *bytes == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_beside_a_server_is_no_second_program() {
        let tree = |anon_bytes, largest| ProcessTree {
            anon_bytes,
            largest: Process {
                anon_bytes: largest,
                ..Process::default()
            },
            ..ProcessTree::default()
        };
        assert!(tree(100 << 20, 99 << 20).is_one_program());
        assert!(!tree(100 << 20, 60 << 20).is_one_program());
        assert!(tree(0, 0).is_one_program());
    }

    #[test]
    fn advice_against_counts_where_it_is_most_of_the_memory() {
        let of = |no_huge_bytes| Process {
            advice: Some(Advice {
                anon_bytes: 100 * MIB,
                huge_bytes: 0,
                no_huge_bytes,
                ..Advice::default()
            }),
            ..Process::default()
        };
        assert_eq!(of(50 * MIB).advised_against(), None);
        let most = of(51 * MIB).advised_against();
        assert_eq!(most, Some((51 * MIB, 100 * MIB)));
        assert_eq!(Process::default().advised_against(), None);
    }
}
