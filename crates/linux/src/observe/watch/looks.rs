//! Walks the page tables of single processes (`smaps_rollup`), in turn. A walk holds the lock of the process's address
//! space, so each process has a rest between two walks, and large processes are walked only on request.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hugewise_monitor::watch::{HugeMemory, Process};

use super::budget::Budget;
use crate::machine::error::Kind;
use crate::machine::root::Root;
use crate::observe::processes::LARGE;
use crate::proc::smaps_rollup::read_smaps_rollup;

/// The shortest time between two walks of one process.
const REST: Duration = Duration::from_secs(5);
/// The same for a process that refused.
const REST_AFTER_REFUSAL: Duration = Duration::from_secs(60);
/// A process whose walk took longer is walked only if selected, like a [`LARGE`] one.
const LONG: Duration = Duration::from_millis(100);
/// The time limit for all walks of one sample, so that samples come in time.
const TURN: Duration = Duration::from_millis(200);

/// The result of the last walk of each process.
#[derive(Debug, Default)]
pub(super) struct Looks {
    of: HashMap<(u32, u64), Look>,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    found: HugeMemory,
    at: Duration,
    /// Its duration.
    length: Duration,
}

impl Looks {
    /// Walks the processes whose turn it is, as far as the budget allows, and updates every process.
    pub(super) fn renew(
        &mut self,
        root: &Root,
        processes: &mut [Process],
        now_ns: u64,
        selected: Option<u32>,
        budget: &mut Budget,
    ) {
        let now = Duration::from_nanos(now_ns);
        let mut kept = HashMap::new();
        for process in &*processes {
            let id = process.identity();
            kept.extend(self.of.remove_entry(&id));
        }
        self.of = kept;
        let began = Instant::now();
        for place in self.turn(processes, now, selected) {
            if !budget.is_left() || began.elapsed() > TURN {
                break;
            }
            let process = &processes[place];
            let look = budget.pay(|| look(root, process.pid, now));
            self.of.insert(process.identity(), look);
        }
        for process in processes {
            process.huge = self.known(process, selected);
        }
    }

    /// Returns the indices of the next processes: the selected one, then those never walked, the largest first, then
    /// those with the oldest walk.
    fn turn(&self, processes: &[Process], now: Duration, selected: Option<u32>) -> Vec<usize> {
        let is_due = |process: &Process| {
            let last = self.of.get(&process.identity());
            let rest = last.is_none_or(|last| now >= last.at + last.rest());
            rest && (selected == Some(process.pid) || !self.is_large(process))
        };
        let places = 0..processes.len();
        let mut due: Vec<usize> = places.filter(|&place| is_due(&processes[place])).collect();
        due.sort_by_key(|&place| {
            let process = &processes[place];
            let last = self.of.get(&process.identity()).map(|look| look.at);
            let size = std::cmp::Reverse(process.resident_bytes);
            (selected != Some(process.pid), last, size)
        });
        due
    }

    fn is_large(&self, process: &Process) -> bool {
        let last = self.of.get(&process.identity());
        process.resident_bytes > LARGE || last.is_some_and(|look| look.length > LONG)
    }

    fn known(&self, process: &Process, selected: Option<u32>) -> HugeMemory {
        match self.of.get(&process.identity()) {
            Some(look) => look.found,
            None if self.is_large(process) && selected != Some(process.pid) => HugeMemory::Large,
            None => HugeMemory::Waiting,
        }
    }
}

impl Look {
    fn rest(&self) -> Duration {
        match self.found {
            HugeMemory::NotPermitted => REST_AFTER_REFUSAL,
            _ => REST,
        }
    }
}

fn look(root: &Root, pid: u32, at: Duration) -> Look {
    let began = Instant::now();
    let found = match read_smaps_rollup(root, pid) {
        Ok(rollup) => HugeMemory::Bytes {
            anon: rollup.huge_anon_bytes,
            shared: rollup
                .huge_shmem_bytes
                .saturating_add(rollup.huge_file_bytes),
            hugetlb: rollup.hugetlb_bytes,
            at_ns: crate::machine::clock::nanoseconds(at),
        },
        Err(error) if error.kind == Kind::NotPermitted => HugeMemory::NotPermitted,
        // It has ended, or has just lost its memory: the next list will show.
        Err(_) => HugeMemory::Waiting,
    };
    Look {
        found,
        at,
        length: began.elapsed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, resident_bytes: u64) -> Process {
        Process {
            pid,
            started_ticks: 1,
            name: "x".to_owned(),
            resident_bytes,
            faults: 0,
            huge: HugeMemory::Waiting,
        }
    }

    fn looked(looks: &mut Looks, pid: u32, at: u64, length: Duration) {
        let look = Look {
            found: HugeMemory::Waiting,
            at: Duration::from_secs(at),
            length,
        };
        looks.of.insert((pid, 1), look);
    }

    #[test]
    fn the_selected_one_comes_first_then_the_new_ones_by_size_then_the_oldest_look() {
        let processes = [
            process(1, 5),
            process(2, 9),
            process(3, 7),
            process(4, 1),
            process(5, 2),
        ];
        let mut looks = Looks::default();
        looked(&mut looks, 1, 3, Duration::ZERO);
        looked(&mut looks, 4, 2, Duration::ZERO);
        let now = Duration::from_secs(9);
        assert_eq!(looks.turn(&processes, now, Some(5)), [4, 1, 2, 3, 0]);
    }

    #[test]
    fn nobody_is_looked_at_twice_within_five_seconds() {
        let mut looks = Looks::default();
        looked(&mut looks, 1, 3, Duration::ZERO);
        let turn = |seconds| looks.turn(&[process(1, 5)], Duration::from_secs(seconds), Some(1));
        assert_eq!(turn(7).len(), 0);
        assert_eq!(turn(8).len(), 1);
    }

    #[test]
    fn large_ones_are_looked_at_only_when_they_are_selected() {
        let processes = [process(1, LARGE + 1), process(2, 1)];
        let mut looks = Looks::default();
        looked(&mut looks, 2, 0, LONG * 2);
        let now = Duration::from_secs(9);
        assert_eq!(looks.turn(&processes, now, None).len(), 0);
        assert_eq!(looks.turn(&processes, now, Some(1)), [0]);
        assert_eq!(looks.turn(&processes, now, Some(2)), [1]);
        assert_eq!(looks.known(&processes[0], None), HugeMemory::Large);
    }
}
