//! Memory that is mostly gaps, which khugepaged may fill.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::Trouble;
use crate::arguments::Arguments;
use crate::region::{Advice, Align, Region, huge_bytes, page_bytes};

/// `gaps`: writes to one small page in each of N places of the size of a huge page, then advises
/// them, and waits until all of each is resident, or for `--hold` milliseconds. Where huge pages
/// are off for the process it waits for nothing.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let huge_pages = arguments.needed("--huge-pages")?;
    let hold = Duration::from_millis(arguments.needed("--hold")? as u64);
    arguments.finish()?;
    let each = huge_bytes();
    let pages = huge_pages.saturating_mul(each / page_bytes());
    let region = Region::fresh(pages, Align::Huge, Advice::Small)?;
    region.write(each);
    region.advise(Advice::Huge)?;
    let since = Instant::now();
    while !is_switched_off() && resident_pages()? < pages && since.elapsed() < hold {
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether `PR_SET_THP_DISABLE` holds here, also for advised memory: any other answer has more bits.
fn is_switched_off() -> bool {
    // SAFETY: it only answers.
    unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1 }
}

/// Of this process, by `/proc/self/statm`.
fn resident_pages() -> Result<usize, Trouble> {
    let text = std::fs::read_to_string("/proc/self/statm")
        .map_err(|error| Trouble::Kernel("reading statm", error))?;
    let resident = text.split_whitespace().nth(1);
    Ok(resident.and_then(|it| it.parse().ok()).unwrap_or(0))
}
