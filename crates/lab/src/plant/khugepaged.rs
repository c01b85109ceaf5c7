//! Memory that khugepaged could have made huge but has not.

use super::Planted;
use super::advice::{disable_for_now, enable_again};
use super::place::Place;
use super::preconditions::Fact;
use super::span::{READ_WRITE, Span};
use crate::Trouble;

/// Filled while the process had huge pages disabled, and unknown to khugepaged: it registers a process at its first
/// huge fault or advice (`__khugepaged_enter`, mm/khugepaged.c).
pub(super) fn not_registered(_: &Place) -> Result<Planted, Trouble> {
    disable_for_now()?;
    let span = Span::fresh(2)?;
    span.write();
    enable_again()?;
    Ok(Planted::small(
        span,
        [Fact::NothingKnownToKhugepaged, Fact::NoFlag("nh")],
    ))
}

/// One page in each huge page, on a machine where khugepaged fills no gaps.
pub(super) fn beyond_limits(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_NOHUGEPAGE)?;
    span.middles().for_each(Span::write);
    span.advise(libc::MADV_HUGEPAGE)?;
    let gone = span.pages() - span.huge_pages();
    Ok(Planted::small_but(span, gone, [Fact::Flag("hg")]))
}

/// Small pages made read-only, on a kernel that does not collapse these (up to Linux 6.17, `SCAN_PAGE_RO`).
pub(super) fn read_only(_: &Place) -> Result<Planted, Trouble> {
    let trial = read_only_span()?;
    match trial
        .try_advise(libc::MADV_COLLAPSE)
        .map_err(|error| error.raw_os_error())
    {
        Ok(()) => {
            let what = "this kernel collapses memory that cannot be written (Linux 6.18)";
            return Err(Trouble::NotHere(what.to_owned()));
        }
        // A kernel without the call returns the same error; before 6.1 all kernels refuse.
        Err(Some(libc::EINVAL)) => {}
        Err(_) => {
            return Err(Trouble::Premise(
                "collapsing failed for another reason".to_owned(),
            ));
        }
    }
    let span = read_only_span()?;
    Ok(Planted::small(span, [Fact::Flag("hg")]))
}

fn read_only_span() -> Result<Span, Trouble> {
    let span = Span::fresh(2)?;
    span.protect(READ_WRITE)?;
    span.write_small_then_advise()?;
    span.protect(libc::PROT_READ)?;
    Ok(span)
}
