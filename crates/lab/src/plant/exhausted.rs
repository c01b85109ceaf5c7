//! A machine without a free huge page.

use std::time::{Duration, Instant};

use super::Planted;
use super::look::counter;
use super::place::Place;
use super::preconditions::Fact;
use super::span::Span;
use crate::Trouble;
use crate::region::{huge_bytes, page_bytes};

/// How long the kernel may keep finding huge pages.
const WITHIN: Duration = Duration::from_secs(60);

/// Allocates huge pages until the kernel falls back to small pages; the plant is the memory with those. `defrag` makes
/// the kernel try only for advised memory, so it reclaims nothing here. The plant holds all huge pages that were free.
pub(super) fn refused(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(memory_bytes()? / huge_bytes())?;
    let refusals = || counter("thp_fault_fallback");
    let began = Instant::now();
    for piece in span.pieces(huge_bytes()) {
        let before = refusals();
        piece.part(0, page_bytes()).write();
        if refusals() > before {
            piece.write();
            // The mapping is the whole span and mostly huge, so only pages can be counted.
            let planted = Planted::new(piece, vec![Fact::Present(piece.pages())]);
            return Ok(planted);
        }
        if began.elapsed() > WITHIN {
            break;
        }
    }
    Err(Trouble::Premise("no huge page was refused".to_owned()))
}

fn memory_bytes() -> Result<usize, Trouble> {
    // SAFETY: sysconf has no preconditions.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    usize::try_from(pages)
        .map(|pages| pages * page_bytes())
        .map_err(|_| {
            Trouble::NotHere("the kernel does not say how much memory there is".to_owned())
        })
}
