//! Free memory without free huge blocks: the machine has to move pages before it can give any.

use std::process::ExitCode;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::plant::look::meminfo;
use crate::region::{Advice, Align, Region, faults, huge_bytes, page_bytes};

/// Bytes in a MiB.
const MIB: usize = 1 << 20;

/// What is filled between two looks at what is left.
const STEP: usize = 64 * MIB;

/// Of so many pages in a row one stays. A block of 64 KiB is then the largest that is free.
const ONE_OF: usize = 16;

/// `fragment`: fills memory with small pages up to `--fill` MiB, but never so far that less
/// than `--reserve` MiB would be available; gives all but each sixteenth page back; then
/// touches `--huge-pages` advised huge pages, and prints
/// `filled F MiB, asked H huge pages, faults N`.
///
/// What is kept can be moved, so compaction can help, and has to as soon as the huge blocks of
/// the reserve are used up. F is 0 where there is no room beyond the reserve.
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

/// Bytes that can be had without swapping: `MemAvailable` of `/proc/meminfo`.
fn available() -> Result<usize, Trouble> {
    let unreadable = || std::io::ErrorKind::InvalidData.into();
    meminfo("MemAvailable").ok_or_else(|| Trouble::Kernel("reading /proc/meminfo", unreadable()))
}
