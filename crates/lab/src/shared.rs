//! Memory other than private small pages: shared memory, and pages of a hugetlb pool.

use std::process::ExitCode;
use std::ptr;
use std::time::Duration;

use crate::arguments::Arguments;
use crate::region::{faults, huge_bytes, page_bytes};
use crate::{Trouble, tell};

/// `shared`: writes one byte to each of N pages of a shared mapping without a file, and prints `pages N faults F`.
///
/// On 4 KiB pages 23,040 pages are 23,040 faults, and 45 if shared memory is huge.
pub(crate) fn shared(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let pages = arguments.needed("--pages")?;
    let bytes = pages.saturating_mul(page_bytes());
    let faults = touch((bytes, page_bytes()), libc::MAP_SHARED)?;
    tell(format_args!("pages {pages} faults {faults}"));
    hold(arguments)
}

/// `pool`: writes one byte to each of N pages of the default hugetlb pool, and prints `huge-pages N faults N`. Fails if
/// the pool is too small.
pub(crate) fn pool(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let pages = arguments.needed("--huge-pages")?;
    let bytes = pages.saturating_mul(huge_bytes());
    let flags = libc::MAP_PRIVATE | libc::MAP_HUGETLB;
    let faults = touch((bytes, huge_bytes()), flags)?;
    tell(format_args!("huge-pages {pages} faults {faults}"));
    hold(arguments)
}

/// Maps memory and writes to every page of it; returns the number of faults. The memory stays mapped.
fn touch((bytes, stride): (usize, usize), flags: libc::c_int) -> Result<i64, Trouble> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = flags | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
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
