//! Memory other than private small pages: shared memory, and pages of a hugetlb pool.

use std::fs::{File, remove_file};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::ExitCode;
use std::ptr;
use std::time::Duration;

use crate::arguments::Arguments;
use crate::region::{faults, huge_bytes, page_bytes};
use crate::{Trouble, tell};

/// `shared`: writes one byte to each of N pages of a shared mapping without a file, or of a new file in a folder, and
/// prints `pages N faults F`.
///
/// On 4 KiB pages 23,040 pages are 23,040 faults, and 45 if shared memory is huge.
pub(crate) fn shared(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let pages = arguments.needed("--pages")?;
    let bytes = pages.saturating_mul(page_bytes());
    let faults = match arguments.word("--folder")? {
        None => touch(
            (bytes, page_bytes()),
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
        ),
        Some(folder) => {
            let file = nameless(Path::new(&folder), bytes)?;
            touch((bytes, page_bytes()), libc::MAP_SHARED, file.as_raw_fd())
        }
    }?;
    tell(format_args!("pages {pages} faults {faults}"));
    hold(arguments)
}

/// `pool`: writes one byte to each of N pages of the default hugetlb pool, and prints `huge-pages N faults N`. Fails if
/// the pool is too small.
pub(crate) fn pool(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let pages = arguments.needed("--huge-pages")?;
    let bytes = pages.saturating_mul(huge_bytes());
    let flags = libc::MAP_PRIVATE | libc::MAP_HUGETLB | libc::MAP_ANONYMOUS;
    let faults = touch((bytes, huge_bytes()), flags, -1)?;
    tell(format_args!("huge-pages {pages} faults {faults}"));
    hold(arguments)
}

/// Makes a file of so many bytes whose name is removed at once, so that its memory ends with this process.
fn nameless(folder: &Path, bytes: usize) -> Result<File, Trouble> {
    let path = folder.join(format!("hugewise-lab-{}", std::process::id()));
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).open(&path);
    let file = file.map_err(|error| Trouble::Kernel("making a file", error))?;
    remove_file(&path).map_err(|error| Trouble::Kernel("removing a name", error))?;
    let sized = file.set_len(bytes as u64);
    sized.map_err(|error| Trouble::Kernel("sizing a file", error))?;
    Ok(file)
}

/// Maps memory and writes to every page of it; returns the number of faults. The memory stays mapped.
fn touch(
    (bytes, stride): (usize, usize),
    flags: libc::c_int,
    file: libc::c_int,
) -> Result<i64, Trouble> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, file, 0) };
    if start == libc::MAP_FAILED {
        return Err(Trouble::last("mapping memory"));
    }
    let start = start.cast::<u8>();
    // Loads the code and the stack of the fault counter.
    faults();
    let before = faults();
    for offset in (0..bytes).step_by(stride) {
        // SAFETY: offset < bytes, and the whole mapping is writable.
        unsafe { start.add(offset).write_volatile(1) };
    }
    Ok(faults() - before)
}

fn hold(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let hold = arguments.number("--hold")?.unwrap_or(0);
    arguments.finish()?;
    std::thread::sleep(Duration::from_millis(hold as u64));
    Ok(ExitCode::SUCCESS)
}
