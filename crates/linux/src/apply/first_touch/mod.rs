//! Memory touched by a process of its own right before a trial.
//!
//! Handed over, it is what the trial gets, and the host backs it: the memory is warm. Freed all at
//! once it would not stay so: a hypervisor takes back free memory within a second or two, also in
//! the middle of a trial. So it is freed block by block, as the trial takes memory. Held, it
//! shows what the trial pays for other memory that is as cold.

use std::fmt::{self, Display, Formatter};
use std::io::{BufRead, BufReader};
use std::num::ParseIntError;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hugewise_experiment::run::trial::FirstTouch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::machine::descriptors::Room;
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

/// A process that has touched memory and holds or hands over a part of it until this is dropped.
#[derive(Debug)]
pub struct Held {
    process: Child,
    /// Closed, it ends the process.
    _until: Option<ChildStdin>,
}

/// What the process does after it has touched memory, until its owner lets it go.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    /// It frees all but a sample.
    HoldSample,
    /// It frees as much as others take. So many bytes more are free from the beginning.
    HandOver { at_once: u64 },
}

const HOLD_SAMPLE: &str = "hold-sample";
/// The bytes that are free at once follow.
const HAND_OVER: &str = "hand-over=";

impl Display for Task {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::HoldSample => f.write_str(HOLD_SAMPLE),
            Self::HandOver { at_once } => write!(f, "{HAND_OVER}{at_once}"),
        }
    }
}

impl FromStr for Task {
    type Err = ParseIntError;

    fn from_str(word: &str) -> std::result::Result<Self, ParseIntError> {
        if word == HOLD_SAMPLE {
            return Ok(Self::HoldSample);
        }
        let at_once = word.strip_prefix(HAND_OVER).unwrap_or(word).parse()?;
        Ok(Self::HandOver { at_once })
    }
}

/// Touches so much memory, frees it and touches a sample again, which stays held.
///
/// # Errors
/// The process could not be started, got no memory, or `interrupt` was set.
pub fn touch(bytes: u64, block_bytes: u64, interrupt: &AtomicBool) -> Result<(FirstTouch, Held)> {
    start(bytes, block_bytes, Task::HoldSample, interrupt)
}

/// Touches so much memory, and frees as much of it as others take, until [`Held`] is dropped.
/// `at_once` bytes are free from the beginning, for who takes more between two looks than a
/// program can touch: a pool of huge pages.
///
/// # Errors
/// As [`touch`].
pub fn warm(
    bytes: u64,
    block_bytes: u64,
    at_once: u64,
    interrupt: &AtomicBool,
) -> Result<(FirstTouch, Held)> {
    start(bytes, block_bytes, Task::HandOver { at_once }, interrupt)
}

fn start(
    bytes: u64,
    block_bytes: u64,
    task: Task,
    interrupt: &AtomicBool,
) -> Result<(FirstTouch, Held)> {
    let program = Path::new("/proc/self/exe");
    let starting = |error| Error::io("touching memory by", program, error);
    let began = Instant::now();
    let _room = Room::make();
    let mut process = Command::new(program)
        .arg(TOUCHER_WORD)
        .args([bytes, block_bytes].map(|number| number.to_string()))
        .arg(task.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(starting)?;
    let until = process.stdin.take();
    let output = process.stdout.take();
    // From here on the process ends with its owner.
    let held = Held {
        process,
        _until: until,
    };
    let output = output.ok_or_else(|| starting(std::io::ErrorKind::BrokenPipe.into()))?;
    let line = read_line(output, interrupt).map_err(starting)?;
    let mut touch: FirstTouch = serde_json::from_str(&line).map_err(|_| silent())?;
    touch.seconds = began.elapsed().as_secs_f64();
    Ok((touch, held))
}

impl Held {
    /// The process that holds the memory.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.id()
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
