use std::collections::BTreeSet;

use hugewise_observe::faults::Event;

use crate::machine::error::Result;
use crate::machine::root::Root;
use crate::proc::maps;
use crate::proc::tree;

/// The target of the events.
#[derive(Clone, Debug)]
pub enum FaultTarget {
    /// A process before its exec: nothing before the exec is recorded.
    BeforeExec {
        /// The process.
        pid: u32,
    },
    /// Running threads and all their future children.
    Running(TaskSet),
}

/// The processes and threads of one or more process trees at one moment.
#[derive(Clone, Debug)]
pub struct TaskSet {
    root: Root,
    oldest: Vec<u32>,
    /// Processes, the oldest first.
    pub pids: BTreeSet<u32>,
    /// Threads.
    pub tids: BTreeSet<u32>,
}

impl TaskSet {
    /// Finds the processes and threads of one tree.
    ///
    /// # Errors
    /// There is no such process.
    pub fn of(root: &Root, pid: u32) -> Result<Self> {
        root.list(format!("proc/{pid}/task"))?;
        Ok(Self::of_all(root, vec![pid]))
    }

    /// Finds the threads of these processes and their descendants. Processes that have ended have none.
    #[must_use]
    pub fn of_all(root: &Root, oldest: Vec<u32>) -> Self {
        let mut pids: BTreeSet<u32> = oldest.iter().copied().collect();
        for &pid in &oldest {
            pids.extend(tree::read_descendants(root, pid));
        }
        let mut tids = BTreeSet::new();
        for pid in &pids {
            // A descendant that has ended in the interval has no threads.
            let names = root.list(format!("proc/{pid}/task")).unwrap_or_default();
            tids.extend(names.iter().filter_map(|name| name.parse::<u32>().ok()));
        }
        Self {
            root: root.clone(),
            oldest,
            pids,
            tids,
        }
    }

    /// Returns the number of threads that exist now and did not exist then.
    #[must_use]
    pub fn newcomers(&self) -> usize {
        let now = Self::of_all(&self.root, self.oldest.clone());
        now.tids.difference(&self.tids).count()
    }
}

impl FaultTarget {
    /// Returns the existing mappings, as events that precede all others.
    pub(super) fn known_mappings(&self) -> Vec<Event> {
        match self {
            Self::BeforeExec { .. } => Vec::new(),
            Self::Running(crowd) => crowd
                .pids
                .iter()
                .flat_map(|&pid| maps::read(&crowd.root, pid))
                .map(Event::Map)
                .collect(),
        }
    }

    pub(super) fn tids(&self) -> Vec<u32> {
        match self {
            Self::BeforeExec { pid } => vec![*pid],
            Self::Running(crowd) => crowd.tids.iter().copied().collect(),
        }
    }
}
