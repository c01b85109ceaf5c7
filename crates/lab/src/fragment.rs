//! Fragments free memory: no huge block is free, so the kernel has to move pages before it can allocate one.

use std::process::ExitCode;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::plant::look::meminfo;
use crate::region::{Advice, Align, Region, faults, huge_bytes, page_bytes};

/// Bytes in a MiB.
const MIB: usize = 1 << 20;

/// Bytes to fill between two checks of the available memory.
const STEP: usize = 64 * MIB;

/// One page of this many consecutive ones stays allocated. The largest free block is then 64 KiB.
const ONE_OF: usize = 16;

/// `fragment`: fills memory with small pages up to `--fill` MiB, but leaves at least `--reserve` MiB available; frees
/// all except every sixteenth page; then touches `--huge-pages` advised huge pages, and prints
/// `filled F MiB, asked H huge pages, faults N`.
///
/// The kept pages are movable, so compaction can help, and is needed once the huge blocks of the reserve are used up. F
/// is 0 if there is no memory beyond the reserve.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let fill = arguments.needed("--fill")?;
    let reserve = arguments.needed("--reserve")?;
    let huge_pages = arguments.needed("--huge-pages")?;
    arguments.finish()?;
    let mib = |number: usize, name| {
        let too_large = || Trouble::Usage(format!("{name} {number} MiB is more than fits"));
        number.checked_mul(MIB).ok_or_else(too_large)
    };
    let (fill, reserve) = (mib(fill, "--fill")?, mib(reserve, "--reserve")?);

    let region = Region::fresh(fill / page_bytes(), Align::Huge, Advice::Small)?;
    let mut filled = 0;
    while filled < fill && available()? > reserve + STEP {
        let part = STEP.min(fill - filled);
        region.write_part(filled, part);
        filled += part;
    }
    for run in (0..filled).step_by(ONE_OF * page_bytes()) {
        let end = (run + ONE_OF * page_bytes()).min(filled);
        region.forget(run + page_bytes(), end.saturating_sub(run + page_bytes()))?;
    }
    let before = faults();
    let asked = Region::fresh(
        huge_pages * (huge_bytes() / page_bytes()),
        Align::Huge,
        Advice::Huge,
    )?;
    asked.write(page_bytes());
    let taken = faults() - before;
    println!(
        "filled {} MiB, asked {huge_pages} huge pages, faults {taken}",
        filled / MIB
    );
    Ok(ExitCode::SUCCESS)
}

/// Bytes available without swapping: `MemAvailable` of `/proc/meminfo`.
fn available() -> Result<usize, Trouble> {
    let unreadable = || std::io::ErrorKind::InvalidData.into();
    meminfo("MemAvailable").ok_or_else(|| Trouble::Kernel("reading /proc/meminfo", unreadable()))
}
