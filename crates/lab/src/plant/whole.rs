//! Existing huge pages: nothing is wrong, and no reason may be reported.

use super::Planted;
use super::place::Place;
use super::preconditions::{Fact, demand};
use super::span::{READ_WRITE, Span};
use crate::Trouble;
use crate::region::huge_bytes;

/// Advised, then written: each was allocated at its first fault.
pub(super) fn at_fault(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    span.write();
    Ok(huge(span))
}

/// Mapped in steps of one whole huge page, each touched at once. The step size makes the difference, not the order of
/// mapping and touching.
pub(super) fn grown(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::reserve(2)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    for step in span.pieces(huge_bytes()) {
        step.protect(READ_WRITE)?;
        step.write();
    }
    Ok(huge(span))
}

/// Filled with small pages and collapsed by the process itself.
pub(super) fn collapsed(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.write_small_then_advise()?;
    collapse(span)?;
    Ok(huge(span))
}

fn collapse(span: Span) -> Result<(), Trouble> {
    match span.try_advise(libc::MADV_COLLAPSE) {
        Ok(()) => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Err(Trouble::NotHere(
            "this kernel has no MADV_COLLAPSE (Linux 6.1)".to_owned(),
        )),
        Err(error) => Err(Trouble::Premise(format!("collapsing failed: {error}"))),
    }
}

fn huge(span: Span) -> Planted {
    let facts = vec![
        Fact::Present(span.pages()),
        Fact::Field("AnonHugePages", span.bytes()),
    ];
    Planted::new(span, facts)
}

/// Shared anonymous memory, which the policy of shared memory allows to be huge.
pub(super) fn shared(_: &Place) -> Result<Planted, Trouble> {
    let span = super::shared::anonymous()?;
    span.write();
    Ok(Planted::new(
        span,
        vec![Fact::Field("ShmemPmdMapped", span.bytes())],
    ))
}

/// A file in the page cache, read through an advised mapping (Linux 5.18), on a file system
/// with large folios.
pub(super) fn file(place: &Place) -> Result<Planted, Trouble> {
    let span = Span::reserve(2)?;
    let file = place.file(span.bytes())?;
    file.leave_cache()?;
    file.map(span, libc::PROT_READ, libc::MAP_SHARED, 0)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    span.read();
    let whole = Fact::Field("FilePmdMapped", span.bytes());
    whole.check(span).map_err(|_| {
        Trouble::NotHere(format!(
            "the file system of {} made no huge page for an advised file",
            place.folder().display()
        ))
    })?;
    Ok(Planted::new(span, vec![whole]))
}

/// A hugetlb page from the pool.
pub(super) fn pool(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::reserve(1)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB;
    span.map(READ_WRITE, flags, -1, 0)
        .map_err(|_| Trouble::NotHere("the pool of explicit huge pages is empty".to_owned()))?;
    span.write();
    let bytes = Fact::Field("Private_Hugetlb", span.bytes());
    demand(bytes.check(span).is_ok(), || {
        "the mapping holds no explicit huge page".to_owned()
    })?;
    Ok(Planted::new(span, vec![bytes, Fact::Flag("ht")]))
}
