//! The page map of a process: the present pages of a range, and their frames.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// Flags of an entry: the page is present; its frame (Documentation/admin-guide/mm/pagemap.rst).
pub(crate) const PRESENT: u64 = 1 << 63;
pub(crate) const FRAME: u64 = (1 << 55) - 1;

/// `_IOWR('f', 16, struct pm_scan_arg)` and its categories (linux/fs.h).
const PAGEMAP_SCAN: libc::Ioctl = 0xC060_6610_u32 as libc::Ioctl;
pub(crate) const SCAN_FILE: u64 = 1 << 2;
pub(crate) const SCAN_PRESENT: u64 = 1 << 3;
pub(crate) const SCAN_SWAPPED: u64 = 1 << 4;
pub(crate) const SCAN_ZERO: u64 = 1 << 5;
pub(crate) const SCAN_HUGE: u64 = 1 << 6;
pub(crate) const SCAN_GUARD: u64 = 1 << 8;

/// `struct page_region`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Found {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) categories: u64,
}

/// The pages to find, and the categories to report for them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wanted {
    pub(crate) all_of: u64,
    pub(crate) any_of: u64,
    pub(crate) told: u64,
}

/// Scans a range for regions of pages with equal categories, as many as fit into `found`. Returns their number and the
/// address at which the walk ended.
///
/// # Errors
/// The kernel refuses, or has no such call (Linux 6.7).
pub(crate) fn scan(
    pagemap: &File,
    range: Range<u64>,
    wanted: Wanted,
    found: &mut [Found],
) -> io::Result<(usize, u64)> {
    // `struct pm_scan_arg`: size, flags, start, end, walk_end, vec, vec_len, max_pages, and the four masks: inverted,
    // all of, any of, returned.
    let mut question = [
        96,
        0,
        range.start,
        range.end,
        0,
        found.as_mut_ptr() as u64,
        found.len() as u64,
        0,
        0,
        wanted.all_of,
        wanted.any_of,
        wanted.told,
    ];
    // SAFETY: the question is as long as it says, and the kernel writes into `found` at most as
    // many regions as it has room for.
    let count = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, question.as_mut_ptr()) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    Ok((count, question[4]))
}
