//! Reads the output of the workload, so that the workload never blocks on a full pipe.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::calls::wait_readable;

/// Selects whether the output is copied to stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// No.
    Silent,
    /// Yes, byte for byte.
    Stderr,
}

/// The end of the output so far.
type Tail = Arc<Mutex<VecDeque<u8>>>;

/// A thread that reads a pipe to its end and keeps the last bytes.
#[derive(Debug)]
pub(super) struct Drain {
    thread: JoinHandle<()>,
    over: Arc<AtomicBool>,
    tail: Tail,
}

impl Drain {
    pub(super) fn start(pipe: OwnedFd, keep: usize, echo: Echo) -> io::Result<Self> {
        let (over, tail) = (Arc::new(AtomicBool::new(false)), Tail::default());
        let (seen, place) = (Arc::clone(&over), Arc::clone(&tail));
        let thread = Builder::new();
        let thread = thread.spawn(move || read_all(pipe, keep, echo, &seen, &place))?;
        Ok(Self { thread, over, tail })
    }

    /// Returns the last `most` bytes of the output so far.
    pub(super) fn so_far(&self, most: usize) -> Vec<u8> {
        let tail = lock(&self.tail);
        let skipped = tail.len().saturating_sub(most);
        tail.iter().skip(skipped).copied().collect()
    }

    /// Returns the kept output. The tree is dead: all remaining output is in the pipe already, and a process that could
    /// not be killed causes no wait.
    pub(super) fn finish(self) -> Vec<u8> {
        self.over.store(true, Ordering::Release);
        let _ = self.thread.join();
        std::mem::take(&mut *lock(&self.tail)).into()
    }
}

/// The bytes are consistent even if a thread panicked while it held the lock.
fn lock(tail: &Tail) -> MutexGuard<'_, VecDeque<u8>> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_all(pipe: OwnedFd, keep: usize, echo: Echo, over: &AtomicBool, place: &Tail) {
    let mut buffer = vec![0; 64 << 10];
    let mut pipe = std::fs::File::from(pipe);
    loop {
        let last_chance = over.load(Ordering::Acquire);
        let [readable] = wait_readable([pipe.as_fd()], Some(Duration::from_millis(50)));
        match readable.then(|| pipe.read(&mut buffer)) {
            Some(Ok(0) | Err(_)) => break,
            Some(Ok(count)) => {
                if echo == Echo::Stderr {
                    let _ = io::stderr().write_all(&buffer[..count]);
                }
                let mut tail = lock(place);
                tail.extend(&buffer[..count]);
                let surplus = tail.len().saturating_sub(keep);
                tail.drain(..surplus);
            }
            None if last_chance => break,
            None => {}
        }
    }
}
