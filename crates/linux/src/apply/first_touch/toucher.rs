//! The process that touches memory.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::ptr;

use hugewise_model::run::trial::FirstTouch;
use rustix::process::{Signal, set_parent_process_death_signal};

use super::TOUCHER_WORD;
use crate::machine::clock::thread_cpu;
use crate::machine::root::Root;
use crate::proc::smaps_rollup::read_smaps_rollup;

/// So many blocks show whether memory is warm.
const SAMPLE: u64 = 16;

/// Touches memory, prints a [`FirstTouch`] as JSON, and holds a sample until its stdin closes. To
/// be called by `main` when the first argument is [`TOUCHER_WORD`]; the others are the bytes to
/// touch and the size of a block.
#[must_use]
pub fn toucher_main() -> ExitCode {
    debug_assert!(std::env::args_os().any(|word| word == TOUCHER_WORD));
    let mut numbers = std::env::args().skip(2).map(|word| word.parse().ok());
    let (Some(Some(bytes)), Some(Some(block))) = (numbers.next(), numbers.next()) else {
        return ExitCode::FAILURE;
    };
    match run(bytes, block) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Its stderr is the program's.
            let _ = writeln!(io::stderr(), "touching memory: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(bytes: u64, block: u64) -> io::Result<()> {
    prepare();
    let count = bytes.div_ceil(block).max(1);
    let (first, huge_bytes) = {
        let region = Region::map(count, block)?;
        let first = region.touch();
        (first, region.make_huge())
    };
    let sample = Region::map(count.min(SAMPLE), block)?;
    let second = sample.touch();
    let touch = FirstTouch::of(count * block, huge_bytes, &first, &second);
    let mut out = io::stdout();
    writeln!(out, "{}", serde_json::to_string(&touch)?)?;
    out.flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    drop(sample);
    Ok(())
}

/// It dies with its parent, is the first to go where memory runs out, and may have huge pages even
/// if its parent may not.
fn prepare() {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    // SAFETY: the call takes numbers alone.
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
        // One more, to begin at a multiple of a block.
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
        // Kernels without huge pages refuse, and small pages warm memory as well.
        // SAFETY: the range lies within the mapping made above.
        unsafe { libc::madvise(start.cast(), count * block, libc::MADV_HUGEPAGE) };
        Ok(Self {
            map,
            mapped,
            start,
            block,
            count,
        })
    }

    /// Writes to every page; the seconds that each block takes.
    fn touch(&self) -> Vec<f64> {
        let page = rustix::param::page_size();
        let touch = |index: usize| {
            let before = thread_cpu();
            for offset in (0..self.block).step_by(page) {
                // SAFETY: the byte lies in the mapping, which is ours alone.
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

    /// The bytes in huge pages, once the kernel has collapsed what faults left small: where THP is
    /// off, `MADV_COLLAPSE` (Linux 6.1) makes huge pages all the same.
    fn make_huge(&self) -> u64 {
        let huge = || read_smaps_rollup(&Root::real(), std::process::id());
        let huge = || huge().map_or(0, |rollup| rollup.huge_anon_bytes);
        let bytes = self.count * self.block;
        if huge() < bytes as u64 {
            // SAFETY: the range lies in the mapping; no reference points into it.
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
