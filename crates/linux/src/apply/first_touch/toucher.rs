//! The process that touches memory.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::ptr;

use hugewise_experiment::run::trial::FirstTouch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::system::sysinfo;

use super::{TOUCHER_WORD, Task};
use crate::machine::clock::thread_cpu;
use crate::machine::root::Root;
use crate::proc::smaps_rollup::read_smaps_rollup;

/// The number of blocks measured to find out whether memory is warm.
const SAMPLE: u64 = 16;

/// The number of free blocks during the hand-over. It must exceed the memory that a program first touches between two
/// readings (clearing at 10 GB/s, 30 MB in three milliseconds), and be small enough that all blocks are taken before
/// the host takes them back.
const READY: u64 = 16;

/// The polling interval of the hand-over.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 3_000_000,
};

/// Touches memory, prints a [`FirstTouch`] as JSON, and holds or hands over memory until its stdin closes. To be called
/// by `main` if the first argument is [`TOUCHER_WORD`]; the others are the bytes to touch, the size of a block, and the
/// task.
#[must_use]
pub fn toucher_main() -> ExitCode {
    debug_assert!(std::env::args_os().any(|word| word == TOUCHER_WORD));
    let words: Vec<String> = std::env::args().skip(2).collect();
    let [bytes, block, task] = words.as_slice() else {
        return ExitCode::FAILURE;
    };
    let (Ok(bytes), Ok(block), Ok(task)) = (bytes.parse(), block.parse(), task.parse()) else {
        return ExitCode::FAILURE;
    };
    match run(bytes, block, task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Its stderr is that of the program.
            let _ = writeln!(io::stderr(), "touching memory: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(bytes: u64, block: u64, task: Task) -> io::Result<()> {
    prepare();
    let mut stock = Stock::touch(bytes.div_ceil(block).max(1), block)?;
    stock.give(match task {
        Task::HoldSample => stock.left,
        Task::HandOver { at_once } => READY + at_once.div_ceil(block),
    });
    let sample = Region::map(stock.count.min(SAMPLE), block)?;
    let second = sample.touch();
    let touch = FirstTouch::of(stock.count * block, stock.huge_bytes, &stock.first, &second);
    let told = |touch: &FirstTouch| -> io::Result<()> {
        let mut out = io::stdout();
        writeln!(out, "{}", serde_json::to_string(touch)?)?;
        out.flush()
    };
    match task {
        Task::HoldSample => {
            told(&touch)?;
            io::stdin().read_to_end(&mut Vec::new())?;
            drop(sample);
        }
        Task::HandOver { .. } => {
            drop(sample);
            let level = free_bytes();
            told(&touch)?;
            stock.hand_over(level);
        }
    }
    Ok(())
}

/// Touched memory, released from its end: the memory touched last is the warmest.
struct Stock {
    region: Region,
    count: u64,
    /// The number of blocks still held.
    left: u64,
    /// The duration of the first touch of each block, in seconds.
    first: Vec<f64>,
    huge_bytes: u64,
}

impl Stock {
    fn touch(count: u64, block: u64) -> io::Result<Self> {
        let region = Region::map(count, block)?;
        let first = region.touch();
        let huge_bytes = region.make_huge();
        Ok(Self {
            region,
            count,
            left: count,
            first,
            huge_bytes,
        })
    }

    fn give(&mut self, blocks: u64) {
        let blocks = blocks.min(self.left);
        self.left -= blocks;
        self.region.free(self.left as usize, blocks as usize);
    }

    /// Frees one block for each block that others take from the free memory, until stdin closes.
    fn hand_over(&mut self, level: u64) {
        let stdin = io::stdin();
        loop {
            let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
            let pause = (self.left > 0).then_some(&LOOK);
            // An error ends the loop as if the owner had closed stdin.
            if !matches!(poll(&mut asked, pause), Ok(0)) {
                return;
            }
            let taken = level.saturating_sub(free_bytes());
            self.give(taken / self.region.block as u64);
        }
    }
}

/// One system call without a lock or a file: it runs hundreds of times a second during the trial.
fn free_bytes() -> u64 {
    let memory = sysinfo();
    (memory.freeram as u64).saturating_mul(memory.mem_unit.into())
}

/// Makes the process die with its parent, makes it the OOM killer's first choice, and allows huge pages even if its
/// parent may not use them.
fn prepare() {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    // SAFETY: the call takes only numbers.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 0, 0, 0, 0) };
}

/// Fresh anonymous memory in whole blocks, advised to be huge.
struct Region {
    map: *mut libc::c_void,
    mapped: usize,
    start: *mut u8,
    block: usize,
    count: usize,
}

impl Region {
    fn map(count: u64, block: u64) -> io::Result<Self> {
        let large = |_| io::Error::from(io::ErrorKind::OutOfMemory);
        let (count, block) = (
            usize::try_from(count).map_err(large)?,
            usize::try_from(block).map_err(large)?,
        );
        // One more block, so that the start can be aligned.
        let mapped = (count + 1)
            .checked_mul(block)
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping at a place of the kernel's choice.
        let map = unsafe { libc::mmap(ptr::null_mut(), mapped, access, flags, -1, 0) };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = map.cast::<u8>();
        let start = start.wrapping_add(start.align_offset(block));
        // Kernels without huge pages refuse, and small pages warm memory as well. SAFETY: the range is within the
        // mapping made above.
        unsafe { libc::madvise(start.cast(), count * block, libc::MADV_HUGEPAGE) };
        Ok(Self {
            map,
            mapped,
            start,
            block,
            count,
        })
    }

    /// Writes to every page; returns the seconds for each block.
    fn touch(&self) -> Vec<f64> {
        let page = rustix::param::page_size();
        let touch = |index: usize| {
            let before = thread_cpu();
            for offset in (0..self.block).step_by(page) {
                // SAFETY: the byte is in the mapping, which this process owns.
                unsafe {
                    self.start
                        .add(index * self.block + offset)
                        .write_volatile(1);
                };
            }
            thread_cpu().saturating_sub(before).as_secs_f64()
        };
        (0..self.count).map(touch).collect()
    }

    /// Frees blocks; they stay mapped.
    fn free(&self, first: usize, blocks: usize) {
        let start = self.start.wrapping_add(first * self.block);
        // SAFETY: the range is within the mapping; no reference points into it.
        unsafe { libc::madvise(start.cast(), blocks * self.block, libc::MADV_DONTNEED) };
    }

    /// Returns the bytes in huge pages, after collapsing the pages that faults left small: `MADV_COLLAPSE` (Linux 6.1)
    /// works even if THP is off.
    fn make_huge(&self) -> u64 {
        let huge = || read_smaps_rollup(&Root::real(), std::process::id());
        let huge = || huge().map_or(0, |rollup| rollup.huge_anon_bytes);
        let bytes = self.count * self.block;
        if huge() < bytes as u64 {
            // SAFETY: the range is within the mapping; no reference points into it.
            unsafe { libc::madvise(self.start.cast(), bytes, libc::MADV_COLLAPSE) };
        }
        huge()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: made by `map` and unmapped once; nothing points into it any more.
        unsafe { libc::munmap(self.map, self.mapped) };
    }
}
