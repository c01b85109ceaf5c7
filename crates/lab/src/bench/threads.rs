//! Threads that process their arrays at the same time, timed from the first start to the last end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::kernels::{Arrays, Pass};

/// Threads that do the same passes at the same time.
pub(super) struct Crew {
    /// Passes of the next repeat; 0 ends the work.
    passes: AtomicU64,
    barrier: Barrier,
    times: Mutex<Vec<(Instant, Instant)>>,
}

impl Crew {
    /// A crew of this many threads, not yet started.
    pub(super) fn of(threads: usize) -> Self {
        Self {
            passes: AtomicU64::new(0),
            barrier: Barrier::new(threads + 1),
            times: Mutex::new(Vec::new()),
        }
    }

    /// Waits until all threads and the directing one have arrived.
    pub(super) fn meet(&self) {
        self.barrier.wait();
    }

    /// The work of one thread after its arrays are prepared: passes over them, until there are none.
    ///
    /// # Safety
    /// As for the pass, and nobody else touches the arrays.
    pub(super) unsafe fn work(&self, arrays: Arrays, pass: Pass) {
        self.meet();
        loop {
            self.meet();
            let passes = self.passes.load(Ordering::Acquire);
            if passes == 0 {
                return;
            }
            let began = Instant::now();
            // SAFETY: the caller's promise.
            unsafe { repeat(pass, arrays, passes) };
            let ended = Instant::now();
            self.times
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((began, ended));
            self.meet();
        }
    }

    /// Makes all threads do this many passes; returns the time from the first start to the last end.
    pub(super) fn run(&self, passes: u64) -> Duration {
        self.passes.store(passes, Ordering::Release);
        self.meet();
        if passes == 0 {
            return Duration::ZERO;
        }
        self.meet();
        let times = std::mem::take(&mut *self.times.lock().unwrap_or_else(PoisonError::into_inner));
        let began = times.iter().map(|(began, _)| *began).min();
        let ended = times.iter().map(|(_, ended)| *ended).max();
        match (began, ended) {
            (Some(began), Some(ended)) => ended.duration_since(began),
            _ => Duration::ZERO,
        }
    }
}

/// Does this many passes; returns their time.
///
/// # Safety
/// As for the pass.
#[inline(never)]
pub(super) unsafe fn repeat(pass: Pass, arrays: Arrays, passes: u64) -> Duration {
    let began = Instant::now();
    for _ in 0..passes {
        // SAFETY: the caller's promise.
        unsafe { pass(arrays) };
    }
    began.elapsed()
}
