use std::collections::{BTreeMap, BTreeSet};

use super::pid_stat::{PidStat, ResourceUsage, read_pid_stat};
use crate::machine::root::Root;

/// The usage of each of several processes so far.
///
/// Faults are read here instead of with perf: its software events omit the faults inside MADV_POPULATE and MAP_POPULATE
/// (`mm_account_fault` has no registers then, mm/memory.c), and need descriptors for each thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeUsage(BTreeMap<(u32, u64), ResourceUsage>);

impl ResourceUsage {
    fn parts(self) -> [u64; 4] {
        let Self {
            minor_faults,
            major_faults,
            user_ticks,
            system_ticks,
        } = self;
        [minor_faults, major_faults, user_ticks, system_ticks]
    }

    fn of_parts(part: impl Fn(usize) -> u64) -> Self {
        Self {
            minor_faults: part(0),
            major_faults: part(1),
            user_ticks: part(2),
            system_ticks: part(3),
        }
    }

    fn plus(self, other: Self) -> Self {
        let (one, other) = (self.parts(), other.parts());
        Self::of_parts(|index| one[index].saturating_add(other[index]))
    }
}

impl TreeUsage {
    /// Reads the usage of each process, including the children that it has reaped. For the `keeper`, only the usage of
    /// its reaped children counts.
    #[must_use]
    pub fn read(root: &Root, processes: &BTreeSet<u32>, keeper: Option<u32>) -> Self {
        let pids = processes.iter().copied().chain(keeper);
        Self::of_each(root, pids, |stat, pid| {
            if keeper == Some(pid) {
                stat.children
            } else {
                stat.own.plus(stat.children)
            }
        })
    }

    /// Reads the usage of each process without its children.
    #[must_use]
    pub fn read_own(root: &Root, processes: &BTreeSet<u32>) -> Self {
        Self::of_each(root, processes.iter().copied(), |stat, _| stat.own)
    }

    fn of_each(
        root: &Root,
        pids: impl Iterator<Item = u32>,
        usage: impl Fn(&PidStat, u32) -> ResourceUsage,
    ) -> Self {
        let one = |pid| {
            let stat = read_pid_stat(root, pid).ok()?;
            Some(((pid, stat.started_ticks), usage(&stat, pid)))
        };
        Self(pids.filter_map(one).collect())
    }

    /// Returns true if no process could be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a process of `before` has ended.
    #[must_use]
    pub fn lacks_any_of(&self, before: &Self) -> bool {
        before.0.keys().any(|key| !self.0.contains_key(key))
    }

    /// Returns the usage since `before`; `None` if no process is left.
    ///
    /// A reaped child passes its usage to its parent, so the sum over the tree only grows. The usage of an unreaped
    /// child is lost, and the sum falls: then ended processes are removed from the earlier sum, and only their last
    /// usage is missing.
    #[must_use]
    pub fn since(&self, before: &Self) -> Option<ResourceUsage> {
        if self.0.is_empty() {
            return None;
        }
        let grown = |index: usize| {
            let part = |used: &ResourceUsage| used.parts()[index];
            let now: u64 = self.0.values().map(part).fold(0, u64::saturating_add);
            let all = before.0.values().map(part).fold(0, u64::saturating_add);
            now.checked_sub(all).unwrap_or_else(|| {
                let alive = before.0.iter().filter(|(key, _)| self.0.contains_key(key));
                now.saturating_sub(alive.map(|(_, used)| part(used)).sum())
            })
        };
        Some(ResourceUsage::of_parts(grown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::pid_stat::line_of;

    fn used(minor_faults: u64, major_faults: u64) -> ResourceUsage {
        ResourceUsage {
            minor_faults,
            major_faults,
            ..ResourceUsage::default()
        }
    }

    fn tree(processes: &[(u32, u64, u64)]) -> TreeUsage {
        let one = |&(pid, minor, major): &(u32, u64, u64)| ((pid, 1), used(minor, major));
        TreeUsage(processes.iter().map(one).collect())
    }

    #[test]
    fn of_the_keeper_only_its_children_count() {
        let folder = tempfile::tempdir().unwrap();
        for pid in [5, 6] {
            let path = folder.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&path).unwrap();
            let fields = [(10, 100), (11, 20), (12, 3), (13, 4), (14, 50), (15, 60)];
            let ticks = [(16, 7), (17, 8), (22, 9)];
            let line = line_of(pid, "x", 'S', &[&fields[..], &ticks].concat());
            std::fs::write(path.join("stat"), line).unwrap();
        }
        let root = Root::at(folder.path());
        let read = |keeper| TreeUsage::read(&root, &[5, 6, 7].into(), keeper);
        let keeper = read(Some(5)).0;
        assert_eq!(keeper[&(5, 9)].parts(), [20, 4, 7, 8]);
        assert_eq!(keeper[&(6, 9)].parts(), [120, 7, 57, 68]);
        assert_eq!(read(None).0[&(5, 9)].parts(), [120, 7, 57, 68]);
        let own = TreeUsage::read_own(&root, &[5, 7].into());
        assert_eq!(own.0[&(5, 9)].parts(), [100, 3, 50, 60]);
        assert!(own.lacks_any_of(&read(None)) && !read(None).lacks_any_of(&own));
    }

    #[test]
    fn a_child_that_is_waited_for_counts_once() {
        let before = tree(&[(1, 100, 2), (2, 40, 1)]);
        // The parent inherited the 45 of its child, and used 5 more.
        let now = tree(&[(1, 100 + 45 + 5, 2 + 1)]);
        assert_eq!(now.since(&before), Some(used(10, 0)));
    }

    #[test]
    fn a_child_that_nobody_waited_for_does_not_hide_the_others() {
        let before = tree(&[(1, 100, 0), (2, 1000, 0)]);
        let now = tree(&[(1, 107, 0)]);
        assert_eq!(now.since(&before), Some(used(7, 0)));
    }

    #[test]
    fn what_is_new_counts_whole_and_nothing_left_is_not_zero() {
        let before = tree(&[(1, 100, 0)]);
        let now = tree(&[(1, 100, 0), (2, 30, 4)]);
        assert_eq!(now.since(&before), Some(used(30, 4)));
        assert_eq!(tree(&[]).since(&before), None);
    }
}
