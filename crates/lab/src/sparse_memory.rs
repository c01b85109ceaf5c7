//! Memory with mostly gaps, which khugepaged can fill.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::Trouble;
use crate::arguments::Arguments;
use crate::region::{Advice, Align, Region, huge_bytes, page_bytes};

/// `gaps`: writes to one small page in each of N huge-page-sized places, then advises them, and waits until each is
/// fully resident, or for `--hold` milliseconds. If huge pages are off for the process, it does not wait.
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

/// Returns true if `PR_SET_THP_DISABLE` applies here, also to advised memory; other states set more bits.
fn is_switched_off() -> bool {
    // SAFETY: the call only reads a flag.
    unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1 }
}

/// The resident pages of this process, from `/proc/self/statm`.
fn resident_pages() -> Result<usize, Trouble> {
    let text = std::fs::read_to_string("/proc/self/statm")
        .map_err(|error| Trouble::Kernel("reading statm", error))?;
    let resident = text.split_whitespace().nth(1);
    Ok(resident.and_then(|it| it.parse().ok()).unwrap_or(0))
}
