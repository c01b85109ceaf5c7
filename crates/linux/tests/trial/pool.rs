//! A hugetlb pool for the duration of a test, and processes that share some of it.

use std::process::ExitCode;
use std::time::Duration;
use std::{fs, thread};

/// The number of shared pages, and of pages private to the first process.
pub const SHARED: usize = 3;
pub const ALONE: usize = 1;
/// The number of processes that share pages.
pub const PROCESSES: usize = 3;

const FILE: &str = "/proc/sys/vm/nr_hugepages";

/// The machine's pool, enlarged; restored on drop.
pub struct Pool {
    before: u64,
}

impl Pool {
    /// Makes room for the pages of the processes, or returns the reason why that fails.
    pub fn with_room() -> Result<Self, String> {
        let before = number(FILE)?;
        let free = field("HugePages_Free").zip(field("HugePages_Rsvd"));
        let free = free.map_or(0, |(free, reserved)| free.saturating_sub(reserved));
        let wanted = before + (SHARED + ALONE) as u64;
        fs::write(FILE, wanted.to_string()).map_err(|error| format!("{FILE}: {error}"))?;
        let pool = Self { before };
        match number(FILE)? {
            there if there < wanted => Err(format!("no memory for a pool ({free} free)")),
            _ => Ok(pool),
        }
    }

    /// Returns the size of one page in bytes.
    pub fn page_bytes() -> usize {
        let kib = field("Hugepagesize").unwrap_or(0);
        usize::try_from(kib << 10).unwrap()
    }

    /// Returns the number of pages in use.
    pub fn taken() -> Option<u64> {
        let both = field("HugePages_Total").zip(field("HugePages_Free"));
        both.map(|(total, free)| total - free)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        fs::write(FILE, self.before.to_string()).unwrap();
    }
}

fn number(path: &str) -> Result<u64, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    text.trim().parse().map_err(|_| format!("{path}: {text}"))
}

/// Returns a number of `/proc/meminfo`.
fn field(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Runs the processes: all of them write to the shared pages, and stay for a moment.
pub fn workload() -> ExitCode {
    let alone = pages(ALONE, libc::MAP_PRIVATE);
    let shared = pages(SHARED, libc::MAP_SHARED);
    fill(alone, ALONE);
    for _ in 1..PROCESSES {
        // SAFETY: this process has one thread.
        if unsafe { libc::fork() } == 0 {
            // Each child would have a view of the private page, and count as one more sharer. SAFETY: the mapping is
            // not used any more.
            unsafe { libc::munmap(alone.cast(), ALONE * Pool::page_bytes()) };
            break;
        }
    }
    fill(shared, SHARED);
    thread::sleep(Duration::from_millis(600));
    ExitCode::SUCCESS
}

fn pages(count: usize, sharing: i32) -> *mut u8 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = sharing | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB;
    let bytes = count * Pool::page_bytes();
    // SAFETY: a new mapping.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
    at.cast()
}

fn fill(at: *mut u8, count: usize) {
    for index in 0..count {
        // SAFETY: within a mapping of so many pages, which lasts as long as the process.
        unsafe { at.add(index * Pool::page_bytes()).write_volatile(1) };
    }
}
