//! Memory touched by a separate process right before a trial.
//!
//! In the hand-over task, the trial receives this memory, which the host already backs: it is warm. If all of it were
//! freed at once it would not stay warm: a hypervisor takes back free memory within a second or two, even during a
//! trial. So it is freed block by block, as the trial takes memory. In the holding task, it shows the cost of other
//! memory that is equally cold.

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

/// The hidden first argument with which the program only touches memory: if it is present, `main` must call
/// [`toucher_main`].
pub const TOUCHER_WORD: &str = "__touch";

/// The poll interval for signals while the process is silent.
const MOMENT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// A process that has touched memory, and holds or hands over part of it until this is dropped.
#[derive(Debug)]
pub struct Held {
    process: Child,
    /// Closing it ends the process.
    _until: Option<ChildStdin>,
}

/// The task of the process after it has touched memory, until its owner releases it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    /// Frees all except a sample.
    HoldSample,
    /// Frees as much as others take. This many additional bytes are free from the beginning.
    HandOver { at_once: u64 },
}

const HOLD_SAMPLE: &str = "hold-sample";
/// Followed by the number of bytes that are free from the beginning.
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

/// Touches this many bytes, frees them, and touches a sample again, which it keeps.
///
/// # Errors
/// The process could not be started, got no memory, or `interrupt` was set.
pub fn touch(bytes: u64, block_bytes: u64, interrupt: &AtomicBool) -> Result<(FirstTouch, Held)> {
    start(bytes, block_bytes, Task::HoldSample, interrupt)
}

/// Touches this many bytes, and frees as much of them as others take, until [`Held`] is dropped. `at_once` bytes are
/// free from the beginning, for who takes more between two looks than a program can touch: a pool of huge pages.
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
    // From now on the process ends with its owner.
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
    /// Returns the PID of the process that holds the memory.
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

/// Returns how many bytes can be touched without pressure on other programs. This is the smallest of half of the
/// available memory, three quarters of the memory cgroup's remaining limit, and three quarters of the memory in free
/// blocks of the reported size. Hosts never take back smaller blocks, and the kernel would have to compact memory to
/// build larger ones.
///
/// # Errors
/// `/proc/meminfo` cannot be read.
pub fn room(root: &Root, page_bytes: u64, block_bytes: u64) -> Result<u64> {
    let memory = meminfo::read_meminfo(root)?;
    let mut room = meminfo::require(root, &memory, "MemAvailable")? / 2;
    // Only root may read it on some systems.
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
