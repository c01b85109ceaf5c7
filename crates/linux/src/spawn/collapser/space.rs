//! Blocks of an address space suitable for collapse: private anonymous memory or file-backed code, with at least one
//! present page, and not mapped by a PMD.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use hugewise_base::missing::Missing;
use hugewise_observe::faults::{Map, Sharing};

use super::code::{self, WRITTEN};
use super::copying::Copying;
use super::injection::Task;
use super::schedule::Target;
use super::threads;
use crate::machine::root::Root;
use crate::proc::maps;
use crate::proc::pid_stat::read_pid_stat;
use crate::spawn::page_scan::{self, HUGE, PRESENT, PageFilter, ZERO};

/// Identifies an address space: other processes, and other programs in the same process, have different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub(super) pid: u32,
    started: u64,
    stack: u64,
}

impl Identity {
    /// Identifies the address space of the process that currently has this PID.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let stat = read_pid_stat(&Root::real(), pid).ok()?;
        let of_a_program = !stat.is_dead() && !stat.is_kernel_thread();
        of_a_program.then_some(Self {
            pid,
            started: stat.started_ticks,
            stack: stat.stack_address,
        })
    }
}

/// Returns true if the process is a fork of this one that has not executed its program yet.
pub(super) fn is_own_copy(identity: Identity) -> bool {
    Identity::of(std::process::id()).is_some_and(|own| own.stack == identity.stack)
}

/// An address space with memory still to collapse.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) identity: Identity,
    /// The address of a system call instruction.
    pub(super) call: Option<u64>,
    target: Target,
    pieces: VecDeque<Range<u64>>,
    /// A task started by one thread, to be continued by another.
    unfinished: Option<Task>,
    /// The number of attempts in which no thread could be stopped.
    pub(super) failures: u32,
    /// True if the kernel reports which blocks are huge.
    pub(super) tells_huge: bool,
    pagemap: File,
    block: u64,
}

impl Space {
    /// Reads the remaining blocks, without those in `done`.
    ///
    /// # Errors
    /// Its memory may not be read; before Linux 6.7 the kernel does not report which code is huge.
    pub(super) fn read(
        identity: Identity,
        target: Target,
        block: u64,
        done: &BTreeSet<u64>,
    ) -> Result<Self, Missing> {
        let pid = identity.pid;
        let mappings = maps::read(&Root::real(), pid);
        let pagemap = page_scan::open(pid)?;
        let mut space = Self {
            identity,
            call: super::injection::call_instruction(pid, &mappings),
            target,
            pieces: VecDeque::new(),
            unfinished: None,
            failures: 0,
            tells_huge: tells_huge(&pagemap, block),
            pagemap,
            block,
        };
        let ranges = match target {
            Target::Data => candidates(&mappings, &threads::stacks(pid)),
            Target::Text => code::ranges(&mappings).collect(),
        };
        let mut small = BTreeSet::new();
        for range in ranges {
            let whole = range.start.next_multiple_of(block)..range.end - range.end % block;
            small.append(&mut space.untreated(whole)?);
        }
        let left: Vec<u64> = small.difference(done).copied().collect();
        space.pieces = stretches(&left, block).collect();
        Ok(space)
    }

    /// Returns the next task for one thread, of at most `most` bytes.
    pub(super) fn take(&mut self, most: u64) -> Option<Task> {
        if let Some(task) = self.unfinished.take() {
            return Some(task);
        }
        let range = self.take_range(most)?;
        Some(match self.target {
            Target::Data => Task::Collapse(range),
            Target::Text => Task::Copy(Copying::new(self.identity.pid, range, self.block)),
        })
    }

    fn take_range(&mut self, most: u64) -> Option<Range<u64>> {
        let stretch = self.pieces.pop_front()?;
        let most = (most - most % self.block).max(self.block);
        let end = stretch.end.min(stretch.start + most);
        if end < stretch.end {
            self.pieces.push_front(end..stretch.end);
        }
        Some(stretch.start..end)
    }

    /// Returns true if the process still runs the same program.
    pub(super) fn is_alive(&self) -> bool {
        Identity::of(self.identity.pid) == Some(self.identity)
    }

    /// Takes back an unfinished task.
    pub(super) fn give_back(&mut self, task: Task) {
        self.unfinished = Some(task);
    }

    /// Returns the blocks of a range still to be collapsed.
    fn untreated(&self, range: Range<u64>) -> Result<BTreeSet<u64>, Missing> {
        if self.target == Target::Data {
            return self.small(range);
        }
        let small = self.scan(range.clone(), SMALL)?;
        let written = self.scan(range, WRITTEN)?;
        Ok(small.difference(&written).copied().collect())
    }

    /// Returns the blocks of a block-aligned range that contain memory and are not huge.
    pub(super) fn small(&self, range: Range<u64>) -> Result<BTreeSet<u64>, Missing> {
        match self.scan(range.clone(), SMALL) {
            Err(Missing::NotSupported { .. }) => Ok(self.present(range)),
            scanned => scanned,
        }
    }

    /// Returns the blocks of a range with a page that matches `wanted`.
    fn scan(&self, range: Range<u64>, wanted: PageFilter) -> Result<BTreeSet<u64>, Missing> {
        let mut found = BTreeSet::new();
        page_scan::scan_span(&self.pagemap, range, wanted, |region| {
            let first = region.start - region.start % self.block;
            let blocks = (first..region.end).step_by(self.block as usize);
            found.extend(blocks);
        })?;
        Ok(found)
    }

    /// Returns the blocks of a range.
    pub(super) fn blocks(&self, range: Range<u64>) -> impl Iterator<Item = u64> {
        range.step_by(self.block as usize)
    }

    /// Returns the blocks of a range not collapsed by a call: as reported by the kernel if possible, otherwise from the
    /// result.
    pub(super) fn left(&self, range: Range<u64>, result: Result<(), i32>) -> BTreeSet<u64> {
        match (self.tells_huge, result) {
            (true, _) => match self.small(range.clone()) {
                Ok(small) => small,
                Err(_) => self.blocks(range).collect(),
            },
            (false, Ok(())) => BTreeSet::new(),
            (false, Err(_)) => self.blocks(range).collect(),
        }
    }

    /// Returns the blocks of a range that contain memory, huge or not: Linux before 6.7 does not distinguish them.
    fn present(&self, range: Range<u64>) -> BTreeSet<u64> {
        const ENTRY_BYTES: u64 = 8;
        const IN_MEMORY: u8 = 1 << 7;
        let page = rustix::param::page_size() as u64;
        let mut entries = vec![0; (self.block / page * ENTRY_BYTES) as usize];
        let mut is_present = |start: &u64| {
            let read = self
                .pagemap
                .read_exact_at(&mut entries, start / page * ENTRY_BYTES);
            let mut last_bytes = entries.iter().skip(7).step_by(ENTRY_BYTES as usize);
            read.is_ok() && last_bytes.any(|byte| byte & IN_MEMORY != 0)
        };
        let blocks = range.step_by(self.block as usize);
        blocks.filter(&mut is_present).collect()
    }
}

/// Present pages not mapped by a PMD.
const SMALL: PageFilter = PageFilter {
    with: PRESENT,
    without: HUGE | ZERO,
    any_of: 0,
    returned: PRESENT,
};

fn tells_huge(pagemap: &File, block: u64) -> bool {
    let any = PageFilter {
        with: PRESENT,
        returned: PRESENT,
        ..PageFilter::default()
    };
    let scanned = page_scan::scan_span(pagemap, 0..block, any, |_| {});
    !matches!(scanned, Err(Missing::NotSupported { .. }))
}

/// Merges neighbouring blocks.
fn stretches(blocks: &[u64], block: u64) -> impl Iterator<Item = Range<u64>> {
    blocks
        .chunk_by(move |a, b| a + block == *b)
        .filter_map(move |few| Some(*few.first()?..few.last()? + block))
}

/// Returns private, writable, anonymous memory, except stacks.
fn candidates(mappings: &[Map], stacks: &[u64]) -> Vec<Range<u64>> {
    let before = std::iter::once(None).chain(mappings.iter().map(Some));
    let pairs = before.zip(mappings);
    let ordinary = pairs.filter(|(before, mapping)| {
        let holds = |stack: &u64| (mapping.start..mapping.end).contains(stack);
        is_data(mapping)
            && !stacks.iter().any(holds)
            && !before.is_some_and(|it| guards(it, mapping))
    });
    ordinary
        .map(|(_, mapping)| mapping.start..mapping.end)
        .collect()
}

/// Named mappings are accepted, because the names are those that the program gives with `PR_SET_VMA_ANON_NAME`.
fn is_data(mapping: &Map) -> bool {
    const READ_WRITE: u32 = 3;
    let name = mapping.name.as_str();
    mapping.sharing == Sharing::Private
        && mapping.protection & READ_WRITE == READ_WRITE
        && (matches!(name, "//anon" | "[heap]") || name.starts_with("[anon:"))
}

/// Returns true if a small inaccessible mapping is directly below another one, as below the stack of a thread not
/// waiting at the moment.
fn guards(guard: &Map, mapping: &Map) -> bool {
    const LARGEST_GUARD: u64 = 64 << 10;
    const LARGEST_STACK: u64 = 64 << 20;
    guard.end == mapping.start
        && guard.protection == 0
        && guard.end - guard.start <= LARGEST_GUARD
        && mapping.end - mapping.start <= LARGEST_STACK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_data_of_no_file_is_taken() {
        let lines = [
            "00400000-00800000 rw-p 00000000 08:01 77 /bin/x",
            "00800000-01000000 rw-p 00000000 00:00 0 [heap]",
            "10000000-20000000 ---p 00000000 00:00 0",
            "20000000-30000000 rw-p 00000000 00:00 0",
            "30000000-30001000 ---p 00000000 00:00 0",
            "30001000-30801000 rw-p 00000000 00:00 0",
            "40000000-40800000 rw-p 00000000 00:00 0",
            "50000000-50800000 rw-s 00000000 00:00 0",
            "60000000-60800000 r--p 00000000 00:00 0",
            "70000000-70800000 rw-p 00000000 00:00 0 [anon: Go: heap]",
            "80000000-80800000 rw-p 00000000 00:00 0 [stack]",
        ];
        let mappings: Vec<Map> = lines
            .iter()
            .filter_map(|line| maps::parse_line(line, 1))
            .collect();
        let found = candidates(&mappings, &[0x4070_0000]);
        let starts: Vec<u64> = found.iter().map(|range| range.start).collect();
        assert_eq!(starts, [0x80_0000, 0x2000_0000, 0x7000_0000]);
    }

    #[test]
    fn neighbours_lie_together() {
        let block = 2 << 20;
        let blocks: Vec<u64> = (0..40).chain([50]).map(|at| at * block).collect();
        let ranges: Vec<Range<u64>> = stretches(&blocks, block).collect();
        assert_eq!(ranges, [0..40 * block, 50 * block..51 * block]);
    }
}
