//! `map`: large mappings that are made and removed without being touched.

use std::process::ExitCode;

use crate::Trouble;
use crate::arguments::Arguments;

/// Two huge pages of the usual size.
const BYTES: usize = 4 << 20;

/// Maps and unmaps 4 MiB, N times.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let count: usize = arguments.needed("--count")?;
    arguments.finish()?;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    for _ in 0..count {
        // SAFETY: a new mapping touches no existing memory.
        let place = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, kind, -1, 0) };
        if place == libc::MAP_FAILED {
            return Err(Trouble::last("mapping memory"));
        }
        // SAFETY: the mapping is ours, and nothing refers to it.
        unsafe { libc::munmap(place, BYTES) };
    }
    Ok(ExitCode::SUCCESS)
}
