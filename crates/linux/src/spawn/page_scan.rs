//! `ioctl(PAGEMAP_SCAN)` on `/proc/PID/pagemap` (Linux 6.7, fs/proc/task_mmu.c).

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;

use hugewise_base::missing::Missing;

use crate::machine::error::Error;

/// The page is in a file or is shared.
pub(crate) const FILE: u64 = 1 << 2;
/// The page is in memory.
pub(crate) const PRESENT: u64 = 1 << 3;
/// The page is in swap.
pub(crate) const SWAPPED: u64 = 1 << 4;
/// The page is a zero page.
pub(crate) const ZERO: u64 = 1 << 5;
/// A PMD, or hugetlb, maps the page.
pub(crate) const HUGE: u64 = 1 << 6;

/// The page is a guard (`MADV_GUARD_INSTALL`); unknown before Linux 6.15.
pub(crate) const GUARD: u64 = 1 << 8;

/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: libc::Ioctl = 0xC060_6610_u32 as libc::Ioctl;

/// `struct pm_scan_arg` (linux/fs.h).
#[derive(Default)]
#[repr(C)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `struct page_region`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Region {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The returned categories that apply.
    pub(crate) categories: u64,
}

/// Selection of pages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PageFilter {
    /// Categories that must apply.
    pub(crate) with: u64,
    /// Categories that must not apply.
    pub(crate) without: u64,
    /// Alternative categories: at least one must apply; 0 for no such condition.
    pub(crate) any_of: u64,
    /// The categories to return; adjacent regions differ in these.
    pub(crate) returned: u64,
}

/// The privilege required to read a page map, which only the owner of the process may open (mode 0400).
const GRANT: &str = "CAP_SYS_PTRACE together with CAP_DAC_READ_SEARCH";

/// Opens the page map of a process.
pub(crate) fn open(pid: u32) -> Result<File, Missing> {
    let path = format!("/proc/{pid}/pagemap");
    File::open(&path)
        .map_err(|error| Error::io("opening", Path::new(&path), error).into_missing(GRANT))
}

/// Returns the bytes mapped to the shared huge zero page.
pub(crate) fn huge_zero_bytes(pagemap: &File, maps: &[u8]) -> Result<u64, Missing> {
    let wanted = PageFilter {
        with: HUGE | ZERO,
        returned: HUGE | ZERO,
        ..PageFilter::default()
    };
    let regions = scan(pagemap, maps, wanted)?;
    Ok(regions.iter().map(|region| region.end - region.start).sum())
}

/// Returns the bytes of a range mapped by PMDs.
pub(crate) fn huge_bytes(pagemap: &File, range: Range<u64>) -> Result<u64, Missing> {
    let wanted = PageFilter {
        with: PRESENT | HUGE,
        returned: HUGE,
        ..PageFilter::default()
    };
    let mut bytes = 0;
    scan_span(pagemap, range, wanted, |region| {
        bytes += region.end - region.start;
    })?;
    Ok(bytes)
}

/// Returns all address ranges whose pages match the filter.
pub(crate) fn scan(
    pagemap: &File,
    maps: &[u8],
    wanted: PageFilter,
) -> Result<Vec<Range<u64>>, Missing> {
    let Some(all) = mapped_span(maps) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    scan_span(pagemap, all, wanted, |region| {
        found.push(region.start..region.end);
    })?;
    Ok(found)
}

/// Passes on all regions of a span whose pages match the filter, in ascending order of address.
///
/// A buffer with free space marks the end. The end address that the kernel reports is not reliable: it collects regions
/// per page table, and when the last page table ends the walk, it reports the end of the previous one (do_pagemap_scan,
/// fs/proc/task_mmu.c; seen on Linux 6.18). A scan that continued from there would return the same pages twice.
pub(crate) fn scan_span(
    pagemap: &File,
    span: Range<u64>,
    wanted: PageFilter,
    mut take: impl FnMut(Region),
) -> Result<(), Missing> {
    let mut buffer = vec![Region::default(); 2048];
    let mut start = span.start;
    while start < span.end {
        let (count, walked) =
            ask(pagemap, start..span.end, wanted, &mut buffer).map_err(|error| missing(&error))?;
        buffer[..count].iter().copied().for_each(&mut take);
        let told_to = buffer[..count].last().map_or(start, |region| region.end);
        let next = walked.max(told_to);
        if count < buffer.len() || next <= start {
            break;
        }
        start = next;
    }
    Ok(())
}

/// Makes one call; returns the number of regions found, and the end address of the walk.
fn ask(
    pagemap: &File,
    span: Range<u64>,
    wanted: PageFilter,
    buffer: &mut [Region],
) -> io::Result<(usize, u64)> {
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        start: span.start,
        end: span.end,
        vec: buffer.as_mut_ptr() as u64,
        vec_len: buffer.len() as u64,
        category_mask: wanted.with | wanted.without,
        category_inverted: wanted.without,
        category_anyof_mask: wanted.any_of,
        return_mask: wanted.returned,
        ..Scan::default()
    };
    // SAFETY: the structure has the kernel's layout and says its size; the buffer has room for
    // as many regions as it says.
    let count = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut scan) };
    match usize::try_from(count) {
        Ok(count) => Ok((count.min(buffer.len()), scan.walk_end)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

fn missing(error: &io::Error) -> Missing {
    match error.raw_os_error() {
        Some(libc::ENOTTY | libc::EINVAL) => Missing::NotSupported {
            what: "ioctl PAGEMAP_SCAN (Linux 6.7)".to_owned(),
        },
        Some(libc::EPERM | libc::EACCES) => Missing::NotPermitted {
            grant: GRANT.to_owned(),
        },
        _ => Missing::Unreadable {
            error: format!("PAGEMAP_SCAN: {error}"),
        },
    }
}

/// Returns the span from the lowest to the highest address of `/proc/PID/maps`. The vsyscall page is not part of the
/// user address space.
fn mapped_span(maps: &[u8]) -> Option<Range<u64>> {
    let mut spans = crate::proc::lines(maps)
        .filter(|(_, line)| !line.ends_with("[vsyscall]"))
        .filter_map(|(_, line)| {
            let (start, end) = line.split_whitespace().next()?.split_once('-')?;
            let address = |text| u64::from_str_radix(text, 16).ok();
            Some(address(start)?..address(end)?)
        });
    let first = spans.next()?;
    let end = spans.map(|span| span.end).fold(first.end, u64::max);
    Some(first.start..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_span_leaves_vsyscall_out() {
        let maps = b"55e08f3db000-55e08f3dd000 r--p 00000000 fe:00 1 /bin/cat\n\
            7ffe78502000-7ffe78523000 rw-p 00000000 00:00 0 [stack]\n\
            ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";
        assert_eq!(mapped_span(maps), Some(0x55e0_8f3d_b000..0x7ffe_7852_3000));
        assert_eq!(mapped_span(b""), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = mapped_span(&bytes);
        }
    }
}
