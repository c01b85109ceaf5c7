//! The state before the first switch, and a process that puts it back if we are killed.
//!
//! The journal of settings is a file, because settings outlive programs. The pages of a process do not outlive it, so
//! the keeper holds the state in its memory, with a descriptor of the process.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hugewise_live::{Block, Pace};
use serde::{Deserialize, Serialize};

use super::member::Member;
use super::own::find_split;
use super::room::Room;
use super::switch::{Halt, Pages, Work, switch};
use crate::machine::descriptors;
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

/// The hidden first argument by which the program becomes a keeper of pages.
pub const KEEPER_WORD: &str = "__pages";

/// The most blocks of one call.
const BLOCKS_PER_CALL: usize = 64;

/// One line to the keeper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// Blocks of a process as they were found: their addresses, and whether they were huge.
    Found {
        pid: u32,
        page_bytes: u64,
        huge_bytes: u64,
        max_stall_us: u64,
        blocks: Vec<(u64, bool)>,
    },
    /// All is put back.
    Done,
}

/// The keeper of the state before the first switch.
#[derive(Debug)]
pub struct Keeper {
    child: Child,
}

impl Keeper {
    /// Starts it.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start() -> Result<Self> {
        let program = Path::new("/proc/self/exe");
        let _room = descriptors::Room::make();
        let child = Command::new(program)
            .arg(KEEPER_WORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let child = child.map_err(|error| Error::io("starting the keeper from", program, error))?;
        Ok(Self { child })
    }

    /// Tells it of blocks before they are switched for the first time, and waits until it holds the process.
    ///
    /// # Errors
    /// It does not answer: nothing may be switched.
    pub fn hold(&mut self, member: &Member, blocks: &[Block], max_stall: Duration) -> Result<()> {
        let (page_bytes, huge_bytes) = member.sizes();
        let line = Line::Found {
            pid: member.pid(),
            page_bytes,
            huge_bytes,
            max_stall_us: u64::try_from(max_stall.as_micros()).unwrap_or(u64::MAX),
            blocks: blocks.iter().map(|it| (it.start, it.is_huge)).collect(),
        };
        self.tell(&line).map_err(|error| {
            Error::io(
                "telling the keeper of pages",
                Path::new("/proc/self/exe"),
                error,
            )
        })
    }

    fn tell(&mut self, line: &Line) -> io::Result<()> {
        let (Some(to), Some(from)) = (&mut self.child.stdin, &mut self.child.stdout) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        to.write_all(&text)?;
        to.flush()?;
        let mut answer = [0; 1];
        io::Read::read_exact(from, &mut answer)?;
        match answer {
            HELD => Ok(()),
            _ => Err(io::Error::other("it could not open the process")),
        }
    }

    /// Ends it: all is put back.
    pub fn done(mut self) {
        // Whatever goes wrong here, it puts back what is as it should be already.
        let _ = self.tell(&Line::Done);
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Answers of a keeper.
const HELD: [u8; 1] = *b"+";
const NOT_HELD: [u8; 1] = *b"-";

/// Blocks of one process as they were found.
struct Held {
    member: Member,
    page_bytes: u64,
    huge_bytes: u64,
    max_stall: Duration,
    blocks: Vec<Block>,
}

/// Runs this process as a keeper of pages. To be called by `main` when the first argument is [`KEEPER_WORD`].
#[must_use]
pub fn keeper_main() -> ExitCode {
    // Signals of the terminal and of the process group are not for it.
    let _ = rustix::process::setsid();
    let root = Root::real();
    let mut all = Vec::new();
    for line in io::stdin().lock().lines().map_while(io::Result::ok) {
        let answer = match serde_json::from_str(&line) {
            Ok(Line::Done) => {
                let _ = say(HELD);
                return ExitCode::SUCCESS;
            }
            Ok(found) => hold(&root, found, &mut all),
            Err(_) => NOT_HELD,
        };
        // Who asks may be dead by now; then the end of stdin comes next.
        let _ = say(answer);
    }
    let put_back: Vec<bool> = all.iter().map(|held| put_back_held(&root, held)).collect();
    match put_back.contains(&false) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

fn say(answer: [u8; 1]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(&answer)?;
    out.flush()
}

fn hold(root: &Root, line: Line, all: &mut Vec<Held>) -> [u8; 1] {
    let Line::Found {
        pid,
        page_bytes,
        huge_bytes,
        max_stall_us,
        blocks,
    } = line
    else {
        return NOT_HELD;
    };
    let means = find_split(root, page_bytes, huge_bytes).ok();
    let member = means.and_then(|it| Member::open(pid, page_bytes, huge_bytes, it).ok());
    let Some(member) = member else {
        return NOT_HELD;
    };
    let blocks = blocks.into_iter();
    all.push(Held {
        member,
        page_bytes,
        huge_bytes,
        max_stall: Duration::from_micros(max_stall_us),
        blocks: blocks
            .map(|(start, is_huge)| Block { start, is_huge })
            .collect(),
    });
    HELD
}

fn put_back_held(root: &Root, held: &Held) -> bool {
    let mut room = Room::new(root, held.page_bytes, held.huge_bytes);
    let left = put_back(
        &held.member,
        &held.blocks,
        held.huge_bytes,
        held.max_stall,
        &mut room,
    );
    left.is_ok_and(|left| left == 0)
}

/// Puts blocks back as they were found. Returns the number of those that stay switched; a process that has ended has
/// none.
///
/// # Errors
/// Free memory is short: huge blocks stay small.
pub(super) fn put_back(
    pages: &impl Pages,
    blocks: &[Block],
    huge_bytes: u64,
    max_stall: Duration,
    room: &mut Room<'_>,
) -> std::result::Result<usize, Halt> {
    let go_on = AtomicBool::new(false);
    let mut left = 0;
    room.begin();
    // Splitting first frees nothing, but it needs nothing either.
    for (work, huge) in [(Work::Split, false), (Work::Collapse, true)] {
        let blocks = blocks.iter().filter(|it| it.is_huge == huge);
        let starts: Vec<u64> = blocks.map(|it| it.start).collect();
        let mut pace = Pace::new(work.hold(), max_stall, BLOCKS_PER_CALL);
        match switch(pages, work, &starts, huge_bytes, &mut pace, room, &go_on) {
            Ok(switched) => left += switched.refused.len(),
            Err(Halt::Ended) => return Ok(0),
            Err(halt) => return Err(halt),
        }
    }
    Ok(left)
}

impl Member {
    /// Puts blocks back as they were found. Returns how many are not.
    ///
    /// # Errors
    /// Free memory is short.
    pub fn put_back(
        &self,
        root: &Root,
        blocks: &[Block],
        max_stall: Duration,
    ) -> std::result::Result<usize, Halt> {
        let (page_bytes, huge_bytes) = self.sizes();
        let mut room = Room::new(root, page_bytes, huge_bytes);
        put_back(self, blocks, huge_bytes, max_stall, &mut room)
    }
}
