//! A known sequence of pages: the hits of a TLB follow from its geometry.

use std::process::ExitCode;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::region::{Advice, Align, Region, page_bytes};

/// `stride`: reads one byte in each of N pages at a distance of S pages, in order, R times. The region begins on a
/// huge-page boundary.
///
/// Under exact LRU a buffer of E entries in sets of W ways behaves as follows from the second round. It hits on all N
/// pages if no set has to hold more than W, and on none if every set must.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let pages = arguments.needed("--pages")?;
    let rounds = arguments.needed("--rounds")?;
    let step = arguments.number("--step")?.unwrap_or(1);
    arguments.finish()?;
    if step == 0 {
        return Err(Trouble::Usage("--step is 1 or more".to_owned()));
    }
    let too_large = || Trouble::Usage(format!("{pages} times {step} pages are more than fit"));
    let span = pages.checked_mul(step).ok_or_else(too_large)?;
    let region = Region::fresh(span, Align::Huge, Advice::Small)?;
    // Computed once, because the call into libc touches other pages.
    let stride = step * page_bytes();
    for _ in 0..rounds {
        region.read(stride);
    }
    Ok(ExitCode::SUCCESS)
}
