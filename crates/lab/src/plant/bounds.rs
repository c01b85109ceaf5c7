//! Mappings that huge pages do not fit into, and growth in steps below a huge page.

use super::Planted;
use super::place::Place;
use super::preconditions::{Fact, demand};
use super::span::{READ_WRITE, Span};
use crate::Trouble;
use crate::region::{huge_bytes, page_bytes};

/// A hole of one huge page between two used mappings.
pub(super) fn hole(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(3)?;
    span.write();
    let middle = span.part(huge_bytes(), huge_bytes());
    middle.unmap()?;
    Ok(Planted::new(middle, vec![Fact::Mappings(0)]))
}

/// Half a huge page, isolated in the space of a whole one.
pub(super) fn half(_: &Place) -> Result<Planted, Trouble> {
    let huge = huge_bytes();
    let around = Span::reserve(1)?;
    lonely(around, around.part(huge / 4, huge / 2))
}

/// As long as a huge page, but starting one page after the boundary.
pub(super) fn misaligned(_: &Place) -> Result<Planted, Trouble> {
    let around = Span::reserve(2)?;
    lonely(around, around.part(page_bytes(), huge_bytes()))
}

/// Makes a hole of `around` and maps `span` in it.
fn lonely(around: Span, span: Span) -> Result<Planted, Trouble> {
    around.unmap()?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    span.map(READ_WRITE, flags, -1, 0)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    span.write();
    Ok(Planted::small(span, [Fact::Mappings(1), Fact::Alone]))
}

/// Two halves of a huge page with different access.
pub(super) fn access_differs(_: &Place) -> Result<Planted, Trouble> {
    let (span, back) = halves()?;
    back.protect(libc::PROT_READ)?;
    back.advise(libc::MADV_DODUMP)?;
    Ok(Planted::small(span, [Fact::Mappings(2), Fact::Flag("hg")]))
}

/// Two halves of a huge page that differ in a flag unrelated to huge pages: one is excluded from core dumps.
pub(super) fn flag_differs(_: &Place) -> Result<Planted, Trouble> {
    let (span, _) = halves()?;
    Ok(Planted::small(span, [Fact::Mappings(2), Fact::Flag("hg")]))
}

/// Two filled mappings of half a huge page. The second is excluded from core dumps, which prevents their merging.
/// Returns the whole span and the second mapping.
fn halves() -> Result<(Span, Span), Trouble> {
    let span = Span::fresh(1)?;
    let half = span.bytes() / 2;
    let back = span.part(half, half);
    span.advise(libc::MADV_HUGEPAGE)?;
    back.advise(libc::MADV_DONTDUMP)?;
    span.write();
    Ok((span, back))
}

/// Grown in steps of a 32nd of a huge page (64 KiB of 2 MiB), each touched at once.
pub(super) fn grown_by_32nds(_: &Place) -> Result<Planted, Trouble> {
    grown(Span::reserve(4)?, huge_bytes() / 32)
}

/// Grown in steps of half a huge page (1 MiB of 2 MiB), each touched at once, as the heap of
/// Go did (golang.org/issue/14264).
pub(super) fn grown_by_halves(_: &Place) -> Result<Planted, Trouble> {
    grown(Span::reserve(4)?, huge_bytes() / 2)
}

/// Grown in steps of a whole huge page, half a huge page off the boundary: no huge page fits.
pub(super) fn grown_askew(_: &Place) -> Result<Planted, Trouble> {
    let huge = huge_bytes();
    let around = Span::reserve(6)?;
    let planted = grown(around.part(huge / 2, 5 * huge), huge)?;
    // Only the huge pages in the middle are judged; at both ends the mapping covers only half of one.
    Ok(planted.narrowed(around.part(huge, 4 * huge)))
}

/// Maps and touches step by step; in the end there is one mapping, in which huge pages would fit. The reservation is
/// advised first, so that missing advice cannot be the reason.
fn grown(span: Span, step: usize) -> Result<Planted, Trouble> {
    span.advise(libc::MADV_HUGEPAGE)?;
    for step in span.pieces(step) {
        step.protect(READ_WRITE)?;
        step.write();
    }
    Fact::Mappings(1).check(span)?;
    Fact::Present(span.pages()).check(span)?;
    demand(span.huge_pages() > 0, || "it is too small".to_owned())?;
    Ok(Planted::small(span, [Fact::Mappings(1), Fact::Flag("hg")]))
}
