//! Reads one address space while its process keeps running.
//!
//! All files are opened first. Each stays bound to the address space for which it was opened, even if the process ends
//! or executes another program, or if its PID is reused. Afterwards the process is checked again; if it has changed,
//! the result is discarded.

use std::fmt;
use std::fs::File;
use std::time::Duration;

use hugewise_base::missing::{Missing, READERS};
use hugewise_observe::address_space::{Mapping, Process, Sort, Source, Sources, Space};

use crate::machine::error::{Error, Kind};
use crate::machine::root::Root;
use crate::proc::pid_stat::{PidStat, read_pid_stat, read_thread_stat};

mod blocks;
mod classify;
mod contents;
mod find;
mod frames;
mod pages;
mod process;
mod reach;
mod settings;
pub(crate) mod smaps;

pub use contents::read_contents;
pub use find::{find_named, list_cgroups, list_of_cgroup, list_processes};
pub use settings::read_settings;
pub use smaps::parse_mappings;

use blocks::Sizes;
use process::{read_process, sort};

/// The privilege required to read another process's memory map (`PTRACE_MODE_READ`,
/// Documentation/filesystems/proc.rst).
const GRANT: &str = "the same user id, or CAP_SYS_PTRACE";
/// The privilege required for its page map, which only its owner may open (mode 0400).
const GRANT_OF_PAGE_MAP: &str =
    "the same user id, or CAP_SYS_PTRACE together with CAP_DAC_READ_SEARCH";
/// The number of attempts to read a process that changes during the reading.
const ATTEMPTS: u32 = 3;

/// The depth of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Mappings and how their pages are mapped.
    Pages,
    /// Also the folios of small pages, if permitted, for at most this long.
    Frames(Duration, Thoroughness),
}

/// How many page frames are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoroughness {
    /// A sample of each long stretch whose ranges look the same; all of the stretch only if the sample differs.
    Sample,
    /// All.
    All,
}

/// The reason why an address space could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// There is no such process.
    Gone,
    /// It ended during the reading.
    Ended,
    /// It executed another program during each attempt.
    Replaced,
    /// Its mappings changed during each attempt, so that they overlapped.
    Restless,
    /// The kernel refuses.
    NotPermitted,
    /// Its files could not be read or parsed.
    Failed(Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => write!(f, "there is no such process"),
            Self::Ended => write!(f, "it ended while it was read"),
            Self::Replaced => write!(f, "it executed another program each time it was read"),
            Self::Restless => write!(f, "its mappings changed each time they were read"),
            Self::NotPermitted => write!(f, "the kernel refuses to show its memory. {READERS}"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        match error.kind {
            _ if error.is_gone() => Self::Gone,
            Kind::NotPermitted => Self::NotPermitted,
            _ => Self::Failed(error),
        }
    }
}

/// Reads the address space of a process on a machine whose base pages have `page_bytes`. `huge_bytes` is the size of a
/// PMD-mapped huge page, or `None` if the kernel has none.
///
/// Kernel threads and zombies have no address space and are returned without mappings.
///
/// # Errors
/// See [`ReadError`].
pub fn read_space(
    root: &Root,
    pid: u32,
    page_bytes: u64,
    huge_bytes: Option<u64>,
    depth: Depth,
) -> Result<Space, ReadError> {
    let sizes = sizes(page_bytes, huge_bytes);
    let mut last = ReadError::Replaced;
    for _ in 0..ATTEMPTS {
        match attempt(root, pid, sizes, depth) {
            Err(again @ (ReadError::Replaced | ReadError::Restless)) => last = again,
            done => return done,
        }
    }
    Err(last)
}

/// Reads only the mappings of a process and their totals (`/proc/PID/smaps`), without kinds and pages. The kernel walks
/// all page tables for it, so the cost grows with the memory in small pages.
///
/// # Errors
/// The process has ended, the kernel refuses, or the file could not be parsed.
pub fn read_totals(root: &Root, pid: u32) -> Result<Vec<Mapping>, Missing> {
    let path = format!("proc/{pid}/smaps");
    let mut file = open(root, &path).map_err(|error| error.into_missing(GRANT))?;
    let parsed = smaps::read_mappings(&mut file)
        .map_err(|error| Error::io("reading", &root.path(&path), error).into_missing(GRANT))?;
    parsed.map_err(|what| Missing::unreadable(format!("/{path}: {what}")))
}

fn attempt(root: &Root, pid: u32, sizes: Sizes, depth: Depth) -> Result<Space, ReadError> {
    let before = read_pid_stat(root, pid)?;
    let mut process = read_process(root, pid, &before)?;
    let Some(folder) = folder_with_memory(root, pid, &before) else {
        return Ok(without_memory(process, sizes));
    };
    let read = read_mapped(root, pid, &folder, sizes, depth);
    match read_pid_stat(root, pid) {
        Err(error) => {
            return Err(match ReadError::from(error) {
                ReadError::Gone => ReadError::Ended,
                other => other,
            });
        }
        Ok(after) if after.started_ticks != before.started_ticks => return Err(ReadError::Ended),
        // Every exec chooses a new address for the stack.
        Ok(after) if after.stack_address != before.stack_address => {
            return Err(ReadError::Replaced);
        }
        Ok(after) if sort(&after) != sort(&before) => return Err(ReadError::Ended),
        Ok(_) => {}
    }
    let tables = process.page_table_bytes.take();
    process.page_table_bytes =
        tables.filter(|_| tables == process::read_page_table_bytes(root, pid));
    let (mappings, read_with) = read?;
    if mappings.is_empty() {
        return Err(ReadError::Ended);
    }
    Ok(Space {
        process,
        page_bytes: sizes.page,
        huge_bytes: sizes.huge,
        read_with,
        contents: Err(Missing::NotAsked),
        mappings,
    })
}

/// A lowest-level page table fills one page with entries of eight bytes; the memory it maps is the size of a PMD range.
fn sizes(page_bytes: u64, huge_bytes: Option<u64>) -> Sizes {
    Sizes {
        page: page_bytes,
        huge: huge_bytes.unwrap_or(page_bytes * (page_bytes / 8)),
    }
}

/// The directory below `/proc` whose files show the memory: that of the process, or of a living thread if the first
/// thread has ended.
fn folder_with_memory(root: &Root, pid: u32, stat: &PidStat) -> Option<String> {
    match sort(stat) {
        Sort::Program => Some(format!("proc/{pid}")),
        Sort::KernelThread => None,
        Sort::Zombie => {
            let tasks = root.list(format!("proc/{pid}/task")).ok()?;
            let living = tasks.into_iter().find(|task| {
                task.parse().is_ok_and(|task| {
                    read_thread_stat(root, pid, task).is_ok_and(|stat| sort(&stat) == Sort::Program)
                })
            })?;
            Some(format!("proc/{living}"))
        }
    }
}

fn without_memory(process: Process, sizes: Sizes) -> Space {
    let what = match process.sort {
        Sort::KernelThread => "a kernel thread has no address space",
        Sort::Zombie | Sort::Program => "it has ended; its memory is gone",
    };
    let none = || Source::Missing(Missing::not_supported(what));
    Space {
        process,
        page_bytes: sizes.page,
        huge_bytes: sizes.huge,
        read_with: Sources {
            smaps: none(),
            page_scan: none(),
            page_map: none(),
            frames: none(),
        },
        contents: Err(Missing::NotAsked),
        mappings: Vec::new(),
    }
}

fn read_mapped(
    root: &Root,
    pid: u32,
    folder: &str,
    sizes: Sizes,
    depth: Depth,
) -> Result<(Vec<Mapping>, Sources), ReadError> {
    let (mut text, smaps) = open_mappings(root, folder)?;
    let pagemap = open(root, &format!("{folder}/pagemap"));
    let mounts = classify::Mounts::read(root, pid);
    let path = root.path(format!("{folder}/smaps"));
    let mut mappings = smaps::read_mappings(&mut text)
        .map_err(|error| Error::io("reading", &path, error))?
        .map_err(|what| Error::malformed(&path, what))?;
    if mappings.windows(2).any(|pair| pair[0].end > pair[1].start) {
        return Err(ReadError::Restless);
    }
    for mapping in &mut mappings {
        classify::classify(mapping, &mounts, sizes.page);
    }
    let none = |why: Missing| Sources {
        smaps,
        page_scan: Source::Missing(why.clone()),
        page_map: Source::Missing(why.clone()),
        frames: Source::Missing(why),
    };
    let sources = match pagemap {
        Ok(pagemap) => {
            let mut sources = none(Missing::NotAsked);
            pages::read_pages(&pagemap, &mut mappings, sizes, &mut sources);
            if let Depth::Frames(longest, thoroughness) = depth {
                let bounds = (longest, thoroughness);
                sources.frames = frames::read_frames(root, &pagemap, &mut mappings, sizes, bounds);
            }
            sources
        }
        Err(error) => none(error.into_missing(GRANT_OF_PAGE_MAP)),
    };
    Ok((mappings, sources))
}

/// Opens `smaps`, or `maps` if the kernel was built without it (CONFIG_PROC_PAGE_MONITOR).
fn open_mappings(root: &Root, folder: &str) -> Result<(File, Source), ReadError> {
    match open(root, &format!("{folder}/smaps")) {
        Ok(file) => Ok((file, Source::Read)),
        Err(error) if error.kind == Kind::NotFound => {
            let maps = open(root, &format!("{folder}/maps"))?;
            Ok((maps, Source::Missing(error.into_missing(GRANT))))
        }
        Err(error) => Err(error.into()),
    }
}

fn open(root: &Root, path: &str) -> Result<File, Error> {
    let path = root.path(path);
    File::open(&path).map_err(|error| Error::io("opening", &path, error))
}
