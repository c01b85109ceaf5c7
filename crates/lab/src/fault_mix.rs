//! A given number of faults of each kind, and no others after the program's start.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::ptr;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::planted::{Side, fork, reap_all};
use crate::region::{Advice, Align, Region, huge_bytes, page_bytes};

/// `fault-mix`: each option makes N faults of its kind, in separate memory:
///
/// * `--write N`: N small pages are written;
/// * `--read N`: N small pages are read, which maps the zero page;
/// * `--read-write N`: N small pages are read and then written, two faults each;
/// * `--again N`: N small pages are written, given back and written again, two faults each;
/// * `--huge N`: one byte in each of N huge pages is written;
/// * `--read-huge N`: one byte in each of N huge pages is read: the huge zero page;
/// * `--copy N`: N small pages are written, and then by a child as well, two faults each;
/// * `--file N`: N pages of a private file mapping are read and then written, two faults each. They are 16 pages apart,
///   because one fault maps up to 16 cached pages of a file;
/// * `--shared N`: N pages of shared memory are written;
/// * `--major N`: N pages of a file are read from disk, if the file system can drop them from memory. They are 16 pages
///   apart.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let mut pages = |name: &str| Ok(arguments.number(name)?.unwrap_or(0));
    let (write, read) = (pages("--write")?, pages("--read")?);
    let (read_write, again) = (pages("--read-write")?, pages("--again")?);
    let (huge, read_huge) = (pages("--huge")?, pages("--read-huge")?);
    let (copy, file) = (pages("--copy")?, pages("--file")?);
    let (shared, major) = (pages("--shared")?, pages("--major")?);
    arguments.finish()?;

    small(write)?.write(page_bytes());
    small(read)?.read(page_bytes());
    let region = small(read_write)?;
    region.read(page_bytes());
    region.write(page_bytes());
    let region = small(again)?;
    region.write(page_bytes());
    region.discard()?;
    region.write(page_bytes());
    whole(huge)?.write(huge_bytes());
    whole(read_huge)?.read(huge_bytes());
    copies(copy)?;
    file_pages(file, libc::MAP_PRIVATE, InMemory::Yes, |place| {
        // SAFETY: the place is in a mapping that is readable and writable.
        unsafe {
            place.read_volatile();
            place.write_volatile(2);
        }
    })?;
    shared_pages(shared)?;
    file_pages(major, libc::MAP_SHARED, InMemory::No, |place| {
        // SAFETY: the place is in a mapping that is readable.
        unsafe { place.read_volatile() };
    })?;
    Ok(ExitCode::SUCCESS)
}

fn small(pages: usize) -> Result<Region, Trouble> {
    Region::fresh(pages, Align::Huge, Advice::Small)
}

fn whole(huge_pages: usize) -> Result<Region, Trouble> {
    let pages = huge_pages.saturating_mul(huge_bytes() / page_bytes());
    Region::fresh(pages, Align::Huge, Advice::Huge)
}

fn copies(pages: usize) -> Result<(), Trouble> {
    if pages == 0 {
        return Ok(());
    }
    let region = small(pages)?;
    region.write(page_bytes());
    if let Side::Child = fork()? {
        region.write(page_bytes());
        // SAFETY: the child ends here, without the destructors of its parent.
        unsafe { libc::_exit(0) };
    }
    reap_all();
    Ok(())
}

fn shared_pages(pages: usize) -> Result<(), Trouble> {
    if pages == 0 {
        return Ok(());
    }
    let bytes = pages * page_bytes();
    let memory = map(bytes, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1)?;
    for page in 0..pages {
        // SAFETY: the page is in the mapping just made.
        unsafe { memory.add(page * page_bytes()).write_volatile(1) };
    }
    Ok(())
}

/// Whether the file's pages are in memory before the touch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InMemory {
    Yes,
    No,
}

/// The distance between touched pages of a file: `fault_around_bytes` of every kernel, in pages.
const APART: usize = 16;

fn file_pages(
    pages: usize,
    flags: libc::c_int,
    in_memory: InMemory,
    touch: impl Fn(*mut u8),
) -> Result<(), Trouble> {
    if pages == 0 {
        return Ok(());
    }
    let stride = APART * page_bytes();
    let file = nameless_file(pages * stride)?;
    if in_memory == InMemory::No {
        forget(&file)?;
    }
    let memory = map(pages * stride, flags, file.as_raw_fd())?;
    // Disables read-ahead of neighbours. SAFETY: the advice leaves content and access as they are.
    unsafe { libc::madvise(memory.cast(), pages * stride, libc::MADV_RANDOM) };
    for page in 0..pages {
        touch(memory.wrapping_add(page * stride));
    }
    Ok(())
}

/// A file full of ones that disappears with the process.
fn nameless_file(bytes: usize) -> Result<File, Trouble> {
    let failed = |error| Trouble::Kernel("making a file", error);
    let path = std::env::temp_dir().join(format!("hugewise-lab-{}", std::process::id()));
    let mut file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(failed)?;
    std::fs::remove_file(&path).map_err(failed)?;
    let ones = vec![1_u8; APART * page_bytes()];
    for _ in 0..bytes.div_ceil(ones.len()) {
        file.write_all(&ones).map_err(failed)?;
    }
    Ok(file)
}

/// Writes a file to its disk and asks the kernel to drop its pages.
fn forget(file: &File) -> Result<(), Trouble> {
    file.sync_all()
        .map_err(|error| Trouble::Kernel("writing a file to its disk", error))?;
    // SAFETY: plain integers; 0 means to the end of the file.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    Ok(())
}

fn map(bytes: usize, flags: libc::c_int, fd: libc::c_int) -> Result<*mut u8, Trouble> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, fd, 0) };
    if memory == libc::MAP_FAILED {
        return Err(Trouble::last("mapping memory"));
    }
    Ok(memory.cast())
}
