//! Differences of resource usage between two readings.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::machine::clock::{next_look, thread_cpu};
use crate::machine::root::Root;
use crate::proc::pid_stat::ResourceUsage;
use crate::proc::tree;
use crate::proc::tree_usage::TreeUsage;

/// The processes whose usage is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageScope {
    /// One process without its children.
    Process(u32),
    /// A process and its descendants.
    Tree(u32),
    /// The descendants of a keeper, and the usage that ended processes left with it.
    Below(u32),
}

impl UsageScope {
    /// Returns the processes that exist now, without a keeper.
    #[must_use]
    pub fn processes(self, root: &Root) -> BTreeSet<u32> {
        match self {
            Self::Process(pid) => BTreeSet::from([pid]),
            Self::Below(keeper) => tree::read_descendants(root, keeper),
            Self::Tree(pid) => {
                let mut all = tree::read_descendants(root, pid);
                all.insert(pid);
                all
            }
        }
    }

    fn usage_of(self, root: &Root, processes: &BTreeSet<u32>) -> TreeUsage {
        match self {
            Self::Process(_) => TreeUsage::read_own(root, processes),
            Self::Tree(_) => TreeUsage::read(root, processes, None),
            Self::Below(keeper) => TreeUsage::read(root, processes, Some(keeper)),
        }
    }
}

/// Repeatedly reads the resource usage of processes.
#[derive(Debug)]
pub struct UsageObserver<'a> {
    root: &'a Root,
    scope: UsageScope,
    before: TreeUsage,
    /// The last reading within an interval: the usage of an ended process is added only to its parent.
    between: Option<TreeUsage>,
    due: Duration,
}

impl<'a> UsageObserver<'a> {
    /// Takes the first reading.
    #[must_use]
    pub fn begin(root: &'a Root, scope: UsageScope) -> Self {
        Self {
            root,
            scope,
            before: scope.usage_of(root, &scope.processes(root)),
            between: None,
            due: Duration::ZERO,
        }
    }

    /// Takes a reading within an interval, `now` after its begin, if the last reading is old enough: the processes may
    /// end before the interval does.
    pub fn read_between(&mut self, now: Duration) {
        /// The time for which a process may run unobserved before it ends.
        const EACH: Duration = Duration::from_millis(50);
        if now < self.due {
            return;
        }
        let before = thread_cpu();
        let usage = self.read();
        if !usage.is_empty() {
            self.between = Some(usage);
        }
        let cost = thread_cpu().saturating_sub(before);
        self.due = next_look(now, EACH, cost);
    }

    /// Returns the usage since the last call; `None` if no process is left.
    pub fn growth(&mut self) -> Option<ResourceUsage> {
        let now = self.read();
        self.until(now)
    }

    /// Does the same for a known set of processes.
    pub fn growth_of(&mut self, processes: &BTreeSet<u32>) -> Option<ResourceUsage> {
        let now = self.scope.usage_of(self.root, processes);
        self.until(now)
    }

    fn read(&self) -> TreeUsage {
        self.scope
            .usage_of(self.root, &self.scope.processes(self.root))
    }

    fn until(&mut self, mut now: TreeUsage) -> Option<ResourceUsage> {
        let between = self.between.take();
        if now.is_empty() {
            now = between.unwrap_or_default();
        }
        let used = now.since(&self.before);
        self.before = now;
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::pid_stat::line_of;

    #[test]
    fn a_process_that_ended_has_used_what_was_read_last() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let process = folder.path().join("proc/7");
        std::fs::create_dir_all(&process).unwrap();
        let write = |faults| {
            let line = line_of(7, "x", 'S', &[(10, faults), (11, 1000)]);
            std::fs::write(process.join("stat"), line).unwrap();
        };
        let faults = |used: Option<ResourceUsage>| used.map(|used| used.minor_faults);
        write(5);
        let mut observer = UsageObserver::begin(&root, UsageScope::Process(7));
        write(9);
        assert_eq!(faults(observer.growth()), Some(4));
        write(11);
        observer.read_between(Duration::ZERO);
        std::fs::remove_dir_all(&process).unwrap();
        assert_eq!(faults(observer.growth()), Some(2));
        assert_eq!(faults(observer.growth()), None);
    }
}
