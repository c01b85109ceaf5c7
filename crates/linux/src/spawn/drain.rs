//! Reading what the workload prints, so that it never waits for us.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::calls::wait_readable;

/// Whether what is read goes on to our stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Echo {
    /// No.
    Silent,
    /// Yes, byte for byte.
    Stderr,
}

/// A thread that reads a pipe to its end and keeps the last bytes of it.
#[derive(Debug)]
pub(super) struct Drain {
    thread: JoinHandle<Vec<u8>>,
    over: Arc<AtomicBool>,
}

impl Drain {
    pub(super) fn start(pipe: OwnedFd, keep: usize, echo: Echo) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = thread::spawn(move || read_all(pipe, keep, echo, &seen));
        Self { thread, over }
    }

    /// What was kept. The tree is dead: whatever is still to come is in the pipe already, and
    /// a process that could not be killed does not keep us waiting.
    pub(super) fn finish(self) -> Vec<u8> {
        self.over.store(true, Ordering::Release);
        self.thread.join().unwrap_or_default()
    }
}

fn read_all(pipe: OwnedFd, keep: usize, echo: Echo, over: &AtomicBool) -> Vec<u8> {
    let mut kept = VecDeque::new();
    let mut buffer = vec![0; 64 << 10];
    let mut pipe = std::fs::File::from(pipe);
    loop {
        let last_chance = over.load(Ordering::Acquire);
        let [readable] = wait_readable([pipe.as_fd()], Some(Duration::from_millis(50)));
        match readable.then(|| pipe.read(&mut buffer)) {
            Some(Ok(0) | Err(_)) => break,
            Some(Ok(count)) => {
                if echo == Echo::Stderr {
                    let _ = std::io::stderr().write_all(&buffer[..count]);
                }
                kept.extend(&buffer[..count]);
                kept.drain(..kept.len().saturating_sub(keep));
            }
            None if last_chance => break,
            None => {}
        }
    }
    kept.into()
}
