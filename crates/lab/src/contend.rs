//! `contend`: threads that wait for the mmap lock of their shared address space.

use std::process::ExitCode;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::Trouble;
use crate::arguments::Arguments;
use crate::region::page_bytes;

/// How long a waiter sleeps between two calls, so that the first thread gets the lock again.
const PAUSE: Duration = Duration::from_millis(1);

/// The first thread repeatedly maps, populates and unmaps `--pages` pages; the kernel holds the mmap lock during that.
/// At the same time each of `--waiters` other threads maps and unmaps a page `--rounds` times, which needs the same
/// lock. Without waiters the first thread repeats `--rounds` times, and nobody waits.
///
/// Prints `contend calls_ns N`: the total time of the waiters' calls, almost all of it waiting.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let pages = arguments.needed("--pages")?;
    let rounds = arguments.needed("--rounds")?;
    let waiters = arguments.number("--waiters")?.unwrap_or(0);
    arguments.finish()?;
    let at_work = AtomicUsize::new(waiters);
    let (populated, waited) = std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..waiters)
            .map(|_| scope.spawn(|| wait_often(rounds, &at_work)))
            .collect();
        let populated = populate(pages, rounds, waiters, &at_work);
        let waited = waiting.into_iter().map(|one| one.join().ok());
        (populated, waited.collect::<Option<Result<Vec<_>, _>>>())
    });
    populated?;
    let Some(waited) = waited else {
        return Err(Trouble::Premise("a thread panicked".to_owned()));
    };
    let calls: Duration = waited?.into_iter().sum();
    crate::tell(format_args!("contend calls_ns {}", calls.as_nanos()));
    Ok(ExitCode::SUCCESS)
}

/// Repeats while a waiter runs, or `rounds` times without waiters.
fn populate(
    pages: usize,
    rounds: usize,
    waiters: usize,
    at_work: &AtomicUsize,
) -> Result<(), Trouble> {
    let mut left = rounds;
    while at_work.load(Ordering::Relaxed) > 0 || (waiters == 0 && left > 0) {
        map_once(pages * page_bytes(), libc::MAP_POPULATE)?;
        left = left.saturating_sub(1);
    }
    Ok(())
}

/// Returns the time of the calls. Even after an error, the first thread no longer waits for this one.
fn wait_often(rounds: usize, at_work: &AtomicUsize) -> Result<Duration, Trouble> {
    let mut calls = Duration::ZERO;
    let mut result = Ok(());
    for _ in 0..rounds {
        std::thread::sleep(PAUSE);
        let began = Instant::now();
        result = result.and_then(|()| map_once(page_bytes(), 0));
        calls += began.elapsed();
    }
    at_work.fetch_sub(1, Ordering::Relaxed);
    result.map(|()| calls)
}

/// Maps and unmaps this many bytes.
fn map_once(bytes: usize, flags: libc::c_int) -> Result<(), Trouble> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a mapping at an address of the kernel's choice touches no existing memory.
    let start = unsafe { libc::mmap(null_mut(), bytes, rights, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(Trouble::last("mapping memory"));
    }
    // SAFETY: the mapping just made, which nothing points into.
    if unsafe { libc::munmap(start, bytes) } != 0 {
        return Err(Trouble::last("unmapping memory"));
    }
    Ok(())
}
