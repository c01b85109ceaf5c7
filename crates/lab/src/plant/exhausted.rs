//! A machine without a free huge page.

use std::time::{Duration, Instant};

use super::Planted;
use super::look::counter;
use super::place::Place;
use super::preconditions::Fact;
use super::span::Span;
use crate::Trouble;
use crate::region::{huge_bytes, page_bytes};

/// How long the kernel may go on finding huge pages.
const WITHIN: Duration = Duration::from_secs(60);

/// Takes huge pages until one is refused: the memory that got small pages in its place. The
/// kernel is told to make no effort for memory that is not advised, so nothing is reclaimed
/// for it; all huge pages that lay ready are held as long as the plant.
pub(super) fn refused(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(memory_bytes()? / huge_bytes())?;
    let refusals = || counter("thp_fault_fallback");
    let began = Instant::now();
    for piece in span.pieces(huge_bytes()) {
        let before = refusals();
        piece.part(0, page_bytes()).write();
        if refusals() > before {
            piece.write();
            // The mapping is the whole span, most of it huge: only pages can be counted.
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
