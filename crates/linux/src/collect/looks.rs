//! Reads the processes of a running tree at increasing intervals: which process does the work, and its own huge page
//! settings.

use std::collections::BTreeMap;

use hugewise_experiment::run::trial::{Process, ProcessTree};

use crate::machine::root::Root;
use crate::proc::process::{read_advice, read_libraries, read_process};
use crate::proc::smaps_rollup::Rollup;
use crate::proc::status::read_status;
use crate::spawn::{ExitReading, KEEPER_WORD};
use crate::sys::thp::read_pmd_bytes;

/// The number of the sample in which the page tables of the largest process are walked again, for its flags: about a
/// fifth of a second after the beginning.
const ADVICE_SAMPLE: u64 = 32;

/// The maximum number of processes whose mappings are read per sample.
const MOST_PROCESSES: usize = 16;

/// The readings of one trial.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    tree: Option<ProcessTree>,
    /// PID of its largest process.
    largest: u32,
}

impl Looks {
    /// Reads the processes of a sample, given their memory. The sampler does this at the first, second, fourth sample
    /// and so on, so the last look is never earlier than half of the samples, at each sample until one finds a process that
    /// has begun, and once more after the load of a server.
    pub(super) fn look(&mut self, root: &Root, sample: u64, processes: &BTreeMap<u32, Rollup>) {
        let mut begun: Vec<(u32, u64)> = processes
            .iter()
            .filter(|(pid, _)| is_begun(root, **pid))
            .map(|(&pid, rollup)| (pid, rollup.anon_bytes))
            .collect();
        begun.sort_by_key(|&(_, anon_bytes)| std::cmp::Reverse(anon_bytes));
        let Some(&(pid, anon_bytes)) = begun.first() else {
            return;
        };
        let Some(mut process) = read_process(root, pid, anon_bytes) else {
            return;
        };
        if sample == ADVICE_SAMPLE {
            process.advice = read_advice(root, pid, read_pmd_bytes(root).ok());
        }
        self.take(pid, tree(root, &begun, process));
    }

    /// Returns true if no look found a process that has begun.
    pub(super) fn is_empty(&self) -> bool {
        self.tree.is_none()
    }

    fn take(&mut self, pid: u32, mut tree: ProcessTree) {
        let Some(known) = self.tree.take() else {
            self.largest = pid;
            self.tree = Some(tree);
            return;
        };
        tree.libraries.extend(known.libraries.iter().cloned());
        let is_smaller = tree.largest.anon_bytes < known.largest.anon_bytes;
        self.tree = Some(if pid != self.largest && is_smaller {
            ProcessTree {
                libraries: tree.libraries,
                ..known
            }
        } else {
            self.largest = pid;
            keep_first(&mut tree.largest, known.largest);
            tree
        });
    }

    /// Returns the tree, with the end of its main process if that is the largest.
    pub(super) fn at_end(&self, main: u32, exit: Option<&ExitReading>) -> Option<ProcessTree> {
        let Some(exit) = exit else {
            return self.tree.clone();
        };
        let Some(mut process) = exit.process.clone() else {
            return self.tree.clone();
        };
        let Some(mut tree) = self.tree.clone() else {
            return (!exit.had_children).then(|| alone(process));
        };
        if self.largest != main && process.anon_bytes < tree.largest.anon_bytes {
            return Some(tree);
        }
        if tree.processes == 1 {
            tree.thp_disabled = u32::from(process.thp_enabled == Some(false));
        }
        let others = tree.anon_bytes.saturating_sub(tree.largest.anon_bytes);
        tree.anon_bytes = others.saturating_add(process.anon_bytes);
        tree.libraries.extend(process.libraries.iter().cloned());
        if self.largest == main {
            keep_first(&mut process, tree.largest);
        }
        tree.largest = process;
        Some(tree)
    }
}

/// Programs that rename themselves overwrite their variables, and a walk of page tables is not repeated: the first
/// reading is kept.
fn keep_first(process: &mut Process, known: Process) {
    if process.program == known.program {
        process.environment = known.environment;
        process.advice = process.advice.or(known.advice);
    }
}

fn alone(process: Process) -> ProcessTree {
    ProcessTree {
        processes: 1,
        thp_disabled: u32::from(process.thp_enabled == Some(false)),
        anon_bytes: process.anon_bytes,
        libraries: process.libraries.clone(),
        largest: process,
    }
}

/// Returns a tree of processes with their anonymous memory, the largest first.
fn tree(root: &Root, processes: &[(u32, u64)], largest: Process) -> ProcessTree {
    let others = || processes.iter().skip(1);
    let disabled = |pid: u32| read_status(root, pid).is_ok_and(|it| it.thp_enabled == Some(false));
    let mut tree = alone(largest);
    tree.processes = processes.len() as u32;
    tree.thp_disabled += others().filter(|(pid, _)| disabled(*pid)).count() as u32;
    tree.anon_bytes = processes.iter().map(|(_, bytes)| bytes).sum();
    for (pid, _) in others().take(MOST_PROCESSES) {
        tree.libraries.extend(read_libraries(root, *pid, None));
    }
    tree
}

/// Returns true if a process has executed the workload: before its exec it is a copy of the keeper.
fn is_begun(root: &Root, pid: u32) -> bool {
    let words = root.read(format!("proc/{pid}/cmdline"));
    words.is_ok_and(|words| {
        let mut words = words.split(|&byte| byte == 0);
        !words.any(|word| word == KEEPER_WORD.as_bytes())
    })
}
