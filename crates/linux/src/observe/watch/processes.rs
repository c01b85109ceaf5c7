//! The processes that have memory, from one small file each.

use std::collections::BTreeSet;

use hugewise_model::observe::watch::{HugeMemory, Process};

use crate::machine::root::Root;
use crate::proc::pid_stat::read_pid_stat;

/// Lists processes.
#[derive(Debug)]
pub(super) struct Lister {
    page_bytes: u64,
    /// Threads of the kernel, which have no memory: on many machines they are the most. They are
    /// read once each, while their number stays in the list.
    kernel_threads: BTreeSet<u32>,
}

impl Lister {
    /// For a machine with base pages of this size.
    pub(super) fn new(page_bytes: u64) -> Self {
        Self {
            page_bytes,
            kernel_threads: BTreeSet::new(),
        }
    }

    /// All processes with memory; nothing is known yet of how much of it is huge. Who comes and
    /// goes meanwhile is in or not.
    pub(super) fn list(&mut self, root: &Root) -> Vec<Process> {
        let names = root.list("proc").unwrap_or_default();
        let pids: BTreeSet<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        self.kernel_threads.retain(|pid| pids.contains(pid));
        let others: Vec<u32> = pids.difference(&self.kernel_threads).copied().collect();
        let processes = others.into_iter().filter_map(|pid| self.process(root, pid));
        processes.collect()
    }

    fn process(&mut self, root: &Root, pid: u32) -> Option<Process> {
        let stat = read_pid_stat(root, pid).ok()?;
        if stat.is_kernel_thread() {
            self.kernel_threads.insert(pid);
            return None;
        }
        let faults = stat.own.minor_faults.saturating_add(stat.own.major_faults);
        (stat.resident_pages > 0).then(|| Process {
            pid,
            started_ticks: stat.started_ticks,
            name: stat.command,
            resident_bytes: stat.resident_pages.saturating_mul(self.page_bytes),
            faults,
            huge: HugeMemory::Waiting,
        })
    }
}
