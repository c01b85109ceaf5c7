//! Memory touched by a process of its own right before a trial.
//!
//! Freed, it is what the trial gets, and the host backs it: the memory is warm. Held, it shows what
//! the trial pays for other memory that is as cold.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hugewise_model::run::trial::FirstTouch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::machine::error::{Error, Kind, Result};
use crate::machine::root::Root;
use crate::proc::buddyinfo::{free_huge_pages, read_buddyinfo};
use crate::proc::meminfo;
use crate::sys::cgroup;

mod toucher;

pub use toucher::toucher_main;

/// The hidden first argument by which the program touches memory and does nothing else: its
/// `main` must call [`toucher_main`] when it sees this word.
pub const TOUCHER_WORD: &str = "__touch";

/// How long nothing may be heard before a signal is looked for.
const MOMENT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// A process that has touched memory and holds a part of it until this is dropped.
#[derive(Debug)]
pub struct Held {
    process: Child,
    /// Closed, it ends the process.
    until: Option<ChildStdin>,
}

/// Touches so much memory, frees it and touches a sample again, which stays held.
///
/// # Errors
/// The process could not be started, got no memory, or `interrupt` was set.
pub fn touch(bytes: u64, block_bytes: u64, interrupt: &AtomicBool) -> Result<(FirstTouch, Held)> {
    let program = Path::new("/proc/self/exe");
    let starting = |error| Error::io("touching memory by", program, error);
    let began = Instant::now();
    let mut process = Command::new(program)
        .args([TOUCHER_WORD, &bytes.to_string(), &block_bytes.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(starting)?;
    let until = process.stdin.take();
    let output = process.stdout.take();
    // From here on the process ends with its owner.
    let held = Held { process, until };
    let output = output.ok_or_else(|| starting(std::io::ErrorKind::BrokenPipe.into()))?;
    let line = read_line(output, interrupt).map_err(starting)?;
    let mut touch: FirstTouch = serde_json::from_str(&line).map_err(|_| silent())?;
    touch.seconds = began.elapsed().as_secs_f64();
    Ok((touch, held))
}

/// Touches so much memory and frees all of it, and returns when it is free.
///
/// # Errors
/// As [`touch`].
pub fn warm(bytes: u64, block_bytes: u64, interrupt: &AtomicBool) -> Result<FirstTouch> {
    let began = Instant::now();
    let (touch, held) = touch(bytes, block_bytes, interrupt)?;
    held.release();
    Ok(FirstTouch {
        seconds: began.elapsed().as_secs_f64(),
        ..touch
    })
}

impl Held {
    /// Lets the process end by itself and waits for that.
    fn release(mut self) {
        self.until = None;
        let _ = self.process.wait();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn read_line(output: ChildStdout, interrupt: &AtomicBool) -> std::io::Result<String> {
    loop {
        let mut asked = [PollFd::new(&output, PollFlags::IN)];
        let ready = poll(&mut asked, Some(&MOMENT)).unwrap_or(0);
        if interrupt.load(Ordering::Relaxed) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        if ready > 0 {
            let mut line = String::new();
            BufReader::new(output).read_line(&mut line)?;
            return Ok(line);
        }
    }
}

fn silent() -> Error {
    Error {
        kind: Kind::Other("the process that touches it ended early".to_owned()),
        doing: "touching memory".to_owned(),
        path: None,
        source: None,
    }
}

/// How much memory may be touched without pressing on other programs: half of what is available,
/// what the memory cgroup leaves, and what lies in free blocks of the size that is reported. Smaller
/// blocks are never taken back, and the kernel would have to compact to make larger ones of them.
///
/// # Errors
/// `/proc/meminfo` cannot be read.
pub fn room(root: &Root, page_bytes: u64, block_bytes: u64) -> Result<u64> {
    let memory = meminfo::read_meminfo(root)?;
    let mut room = meminfo::require(root, &memory, "MemAvailable")? / 2;
    // It is for root alone on some systems.
    if let Ok(blocks) = read_buddyinfo(root) {
        let free = free_huge_pages(&blocks, page_bytes, block_bytes).saturating_mul(block_bytes);
        room = room.min(free / 4 * 3);
    }
    if let Ok(group) = cgroup::read_memory_group(root)
        && let Some((limit, used)) = group.cgroup.limit_bytes.zip(group.used_bytes)
    {
        room = room.min(limit.saturating_sub(used) / 4 * 3);
    }
    Ok(room)
}
