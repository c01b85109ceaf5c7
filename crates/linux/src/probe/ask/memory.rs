//! Probes whether a process can read the state of its own pages and collapse them.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use super::page_bytes;
use crate::machine::fresh_memory::FreshMemory;
use crate::machine::root::Root;
use crate::probe::answers::Answer;
use crate::spawn::PageSizes;
use crate::spawn::huge_blocks::HugeBlocks;

/// `struct pm_scan_arg` (include/uapi/linux/fs.h, Linux 6.7).
#[repr(C)]
#[derive(Default)]
struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    region_count: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `_IOWR('f', 16, struct pm_scan_arg)`, in the generic encoding used by x86, arm64, riscv and s390.
const PAGEMAP_SCAN: u64 = 0xC060_6610;
/// `PAGE_IS_PRESENT`.
const PRESENT: u64 = 1 << 3;
/// Bits 0 to 54 of a pagemap entry are the frame number (pagemap.rst).
const FRAME_BITS: u64 = (1 << 55) - 1;

/// Scans the page of a local variable.
pub(super) fn pagemap_scan(root: &Root) -> Answer {
    open_pagemap(root)
        .and_then(|pagemap| scan_one_page(&pagemap))
        .into()
}

/// A program with file capabilities is not dumpable, so root owns its files in /proc. The measured programs are not
/// affected, so the answer must not be either. Being dumpable for a moment reveals nothing: ptrace needs the same
/// capabilities.
fn open_pagemap(root: &Root) -> io::Result<File> {
    let path = root.path("proc/self/pagemap");
    let opened = File::open(&path);
    // SAFETY: prctl with these requests takes plain numbers and touches no memory of ours.
    let is_dumpable = unsafe { libc::prctl(libc::PR_GET_DUMPABLE) } == 1;
    if opened.is_ok() || is_dumpable {
        return opened;
    }
    // SAFETY: as above.
    let set = |value: libc::c_ulong| unsafe { libc::prctl(libc::PR_SET_DUMPABLE, value) };
    set(1);
    let opened = File::open(&path);
    set(0);
    opened
}

fn scan_one_page(pagemap: &File) -> io::Result<()> {
    let here = 0_u8;
    let start = page_of(&here);
    let mut region = [0_u64; 3];
    let mut argument = ScanArgument {
        size: size_of::<ScanArgument>() as u64,
        start,
        end: start + page_bytes(),
        regions: region.as_mut_ptr() as u64,
        region_count: 1,
        return_mask: PRESENT,
        category_mask: PRESENT,
        ..ScanArgument::default()
    };
    // SAFETY: the argument is the structure that this request reads and writes, and it points
    // to one region of three words; both live until the call returns. Nothing else is written.
    let found = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN as _, &raw mut argument) };
    match found < 0 {
        true => Err(io::Error::last_os_error()),
        false => Ok(()),
    }
}

/// Returns the frame of the page of a local variable. Without `CAP_SYS_ADMIN` the file opens and contains zeroes
/// (pagemap.rst).
pub(super) fn frame_number(root: &Root) -> (Option<u64>, Answer) {
    let here = std::hint::black_box(0_u8);
    let offset = page_of(&here) / page_bytes() * 8;
    let mut entry = [0; 8];
    let read = File::open(root.path("proc/self/pagemap"))
        .and_then(|pagemap| pagemap.read_exact_at(&mut entry, offset));
    match (read, u64::from_ne_bytes(entry) & FRAME_BITS) {
        (Err(error), _) => (None, Err(error).into()),
        (Ok(()), 0) => (None, Answer::Empty),
        (Ok(()), frame) => (Some(frame), Answer::Accepted),
    }
}

fn page_of(variable: &u8) -> u64 {
    let address = std::ptr::from_ref(variable) as u64;
    address - address % page_bytes()
}

/// Collapses no bytes: the kernel checks whether it knows the advice before it checks the length (`do_madvise`,
/// mm/madvise.c), so this touches no memory.
pub(super) fn collapse() -> Answer {
    // SAFETY: a range of length 0 names no memory.
    let result = unsafe { libc::madvise(std::ptr::null_mut(), 0, libc::MADV_COLLAPSE) };
    if result == 0 {
        Answer::Accepted
    } else {
        Err(io::Error::last_os_error()).into()
    }
}

/// Makes a huge page of this process, and advises `MADV_COLD` on one page of it: the kernel splits it first
/// (madvise_cold_or_pageout_pte_range, mm/madvise.c).
pub(super) fn split(root: &Root) -> Answer {
    let pagemap = match open_pagemap(root) {
        Ok(pagemap) => pagemap,
        Err(error) => return Err(error).into(),
    };
    let Ok(seen) = HugeBlocks::find(&pagemap) else {
        return Answer::NotTried;
    };
    match split_one(root, &pagemap, &seen) {
        Ok(true) => Answer::Accepted,
        Ok(false) => Answer::Empty,
        Err(error) => Err(error).into(),
    }
}

fn split_one(root: &Root, pagemap: &File, seen: &HugeBlocks) -> io::Result<bool> {
    let size = root.read_trimmed("sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    let size = size.ok().and_then(|text| text.parse::<usize>().ok());
    let huge = size
        .filter(|it| it.is_power_of_two())
        .ok_or(io::ErrorKind::NotFound)?;
    let memory = FreshMemory::new(2 * huge)?;
    let start = memory.aligned(huge);
    let page = usize::try_from(page_bytes()).unwrap_or(huge);
    let advise = |bytes: usize, advice: libc::c_int| {
        // SAFETY: the range is within the fresh mapping; neither advice changes content or access.
        match unsafe { libc::madvise(start.cast(), bytes, advice) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: one byte of the fresh mapping; a collapse fills in the rest.
    unsafe { start.write_volatile(1) };
    advise(huge, libc::MADV_COLLAPSE)?;
    advise(page, libc::MADV_COLD)?;
    let sizes = PageSizes {
        page_bytes: page_bytes(),
        pmd_bytes: huge as u64,
    };
    Ok(seen.huge(pagemap, &[start.addr() as u64], sizes).is_empty())
}
