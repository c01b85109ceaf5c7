//! Page faults of a tree of processes, from /proc.
//!
//! Not from perf: its software events leave out the faults inside MADV_POPULATE and MAP_POPULATE
//! (`mm_account_fault` has no registers then, mm/memory.c), and cost descriptors for each thread.

use std::collections::{BTreeMap, BTreeSet};

use crate::proc::stat::parse_process;
use crate::root::Root;

/// Minor and major faults of each process with the children it has waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults(BTreeMap<(u32, u64), (u64, u64)>);

impl Faults {
    /// Reads them. Of the `keeper` of a command only what its children left with it counts.
    pub(super) fn read(root: &Root, processes: &BTreeSet<u32>, keeper: Option<u32>) -> Self {
        let one = |&pid: &u32| {
            let line = parse_process(&root.read(format!("proc/{pid}/stat")).ok()?).ok()?;
            let own = if keeper == Some(pid) {
                (0, 0)
            } else {
                (line.minor_faults, line.major_faults)
            };
            let minor = own.0.saturating_add(line.minor_faults_of_children);
            let major = own.1.saturating_add(line.major_faults_of_children);
            Some(((pid, line.born_ticks), (minor, major)))
        };
        Self(processes.iter().filter_map(one).collect())
    }

    /// How many faults there were since `before`; `None` when nothing is left to read.
    ///
    /// A child that is waited for hands its faults to its parent, so the sum over the tree only
    /// grows. One that nobody waits for takes them along, and the sum falls: then those that are
    /// gone are left out of the earlier sum, and only their last faults are lost.
    pub(super) fn since(&self, before: &Self) -> Option<(u64, u64)> {
        if self.0.is_empty() {
            return None;
        }
        let grown = |part: fn(&(u64, u64)) -> u64| {
            let now: u64 = self.0.values().map(part).fold(0, u64::saturating_add);
            let all = before.0.values().map(part).fold(0, u64::saturating_add);
            now.checked_sub(all).unwrap_or_else(|| {
                let alive = before.0.iter().filter(|(key, _)| self.0.contains_key(key));
                now.saturating_sub(alive.map(|(_, faults)| part(faults)).sum())
            })
        };
        Some((grown(|faults| faults.0), grown(|faults| faults.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(processes: &[(u32, u64, u64)]) -> Faults {
        let one = |&(pid, minor, major): &(u32, u64, u64)| ((pid, 1), (minor, major));
        Faults(processes.iter().map(one).collect())
    }

    #[test]
    fn of_the_keeper_only_its_children_count() {
        let folder = tempfile::tempdir().unwrap();
        for pid in [5, 6] {
            let path = folder.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&path).unwrap();
            let line = format!("{pid} (x) S 1 1 1 0 -1 0 100 20 3 4 0 0 0 0 20 0 1 0 9 0");
            std::fs::write(path.join("stat"), line).unwrap();
        }
        let root = Root::at(folder.path());
        let read = |keeper| Faults::read(&root, &[5, 6, 7].into(), keeper);
        let keeper = read(Some(5)).0;
        assert_eq!(keeper[&(5, 9)], (20, 4));
        assert_eq!(keeper[&(6, 9)], (120, 7));
        assert_eq!(read(None).0[&(5, 9)], (120, 7));
    }

    #[test]
    fn a_child_that_is_waited_for_counts_once() {
        let before = faults(&[(1, 100, 2), (2, 40, 1)]);
        // The parent took over the 45 of its child, and has 5 more of its own.
        let now = faults(&[(1, 100 + 45 + 5, 2 + 1)]);
        assert_eq!(now.since(&before), Some((10, 0)));
    }

    #[test]
    fn a_child_that_nobody_waited_for_does_not_hide_the_others() {
        let before = faults(&[(1, 100, 0), (2, 1000, 0)]);
        let now = faults(&[(1, 107, 0)]);
        assert_eq!(now.since(&before), Some((7, 0)));
    }

    #[test]
    fn what_is_new_counts_whole_and_nothing_left_is_not_zero() {
        let before = faults(&[(1, 100, 0)]);
        let now = faults(&[(1, 100, 0), (2, 30, 4)]);
        assert_eq!(now.since(&before), Some((30, 4)));
        assert_eq!(faults(&[]).since(&before), None);
    }
}
