//! `mapped`: random reads of a mapped file.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::ptr;
use std::time::Duration;

use crate::arguments::Arguments;
use crate::region::faults;
use crate::{Trouble, tell};

/// Constants of a linear congruential generator with a full period (Knuth, MMIX).
const FACTOR: u64 = 6_364_136_223_846_793_005;
const STEP: u64 = 1_442_695_040_888_963_407;

/// `mapped --file F --reads N`: maps the file and reads N bytes at places drawn by a fixed generator. Each place depends
/// on the byte before it. Prints `bytes B faults F`.
///
/// A file of 64 MiB in the page cache takes 32 faults if it is in huge pages. Among small pages the kernel maps up to 16
/// cached neighbours with each fault.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let path = arguments.word("--file")?;
    let path = path.ok_or_else(|| Trouble::Usage("--file is missing".to_owned()))?;
    let reads = arguments.needed("--reads")?;
    let hold = arguments.number("--hold")?.unwrap_or(0);
    arguments.finish()?;
    let file = File::open(&path).map_err(|error| Trouble::Kernel("opening a file", error))?;
    let length = file.metadata().map(|it| it.len());
    let length = length.map_err(|error| Trouble::Kernel("sizing a file", error))?;
    let bytes = usize::try_from(length).map_err(|_| Trouble::Usage("too large".to_owned()))?;
    let flags = libc::MAP_SHARED;
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ,
            flags,
            file.as_raw_fd(),
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(Trouble::last("mapping a file"));
    }
    let start = start.cast::<u8>();
    faults();
    let before = faults();
    let mut state = 1_u64;
    for _ in 0..reads {
        let place = (u128::from(state) * bytes as u128) >> 64;
        // SAFETY: place < bytes, and the whole mapping is readable while the file keeps its size.
        let byte = unsafe { start.add(place as usize).read_volatile() };
        state = state
            .wrapping_mul(FACTOR)
            .wrapping_add(STEP ^ u64::from(byte));
    }
    tell(format_args!("bytes {bytes} faults {}", faults() - before));
    std::thread::sleep(Duration::from_millis(hold as u64));
    Ok(ExitCode::SUCCESS)
}
