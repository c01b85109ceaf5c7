//! The processes with memory, from one small file each.

use std::collections::BTreeSet;

use hugewise_base::units::GIB;
use hugewise_monitor::watch::{HugeMemory, Process};

use crate::machine::root::Root;
use crate::proc::pid_stat::read_pid_stat;

/// A process with more memory, in bytes, is walked only if a user selects it: a walk holds the lock of its address
/// space.
pub(super) const LARGE: u64 = 64 * GIB;

/// Lists processes.
#[derive(Debug)]
pub(super) struct Lister {
    page_bytes: u64,
    /// Kernel threads, which have no memory and are the majority of processes on many machines. Each is read once, as
    /// long as its PID stays in the list.
    kernel_threads: BTreeSet<u32>,
}

impl Lister {
    /// Creates a lister for a machine with base pages of this size.
    pub(super) fn new(page_bytes: u64) -> Self {
        Self {
            page_bytes,
            kernel_threads: BTreeSet::new(),
        }
    }

    /// Returns all processes with memory; how much of it is huge is not known yet. A process that starts or ends during
    /// the listing may or may not be included.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;
    use crate::proc::pid_stat::line_of;

    #[test]
    fn processes_have_memory_and_threads_of_the_kernel_have_not() {
        let process = line_of(7, "a b", 'S', &[(10, 5), (12, 1), (22, 99), (24, 300)]);
        let thread = line_of(2, "kthreadd", 'S', &[(9, 0x0020_0000)]);
        let zombie = line_of(9, "x", 'Z', &[]);
        let (_folder, root) = machine_of(&[
            ("proc/7/stat", process.as_str()),
            ("proc/2/stat", thread.as_str()),
            ("proc/9/stat", zombie.as_str()),
            ("proc/meminfo", ""),
        ]);
        let mut lister = Lister::new(4096);
        for _ in 0..2 {
            let [only] = &lister.list(&root)[..] else {
                panic!("one process");
            };
            assert_eq!((only.identity(), &*only.name), ((7, 99), "a b"));
            assert_eq!((only.resident_bytes, only.faults), (300 * 4096, 6));
        }
        assert_eq!(lister.kernel_threads, BTreeSet::from([2]));
    }
}
