//! Reading what the workload prints, so that it never waits for us.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::calls::wait_readable;

/// Whether what is read goes on to our stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// No.
    Silent,
    /// Yes, byte for byte.
    Stderr,
}

/// What was read so far, as far as it is kept.
type Tail = Arc<Mutex<VecDeque<u8>>>;

/// A thread that reads a pipe to its end and keeps the last bytes of it.
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

    /// What came so far, the last `most` bytes of it.
    pub(super) fn so_far(&self, most: usize) -> Vec<u8> {
        let tail = lock(&self.tail);
        let skipped = tail.len().saturating_sub(most);
        tail.iter().skip(skipped).copied().collect()
    }

    /// What was kept. The tree is dead: whatever is still to come is in the pipe already, and
    /// a process that could not be killed does not keep us waiting.
    pub(super) fn finish(self) -> Vec<u8> {
        self.over.store(true, Ordering::Release);
        let _ = self.thread.join();
        std::mem::take(&mut *lock(&self.tail)).into()
    }
}

/// Bytes are whole whatever happened to a thread that held them.
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
