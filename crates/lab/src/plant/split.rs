//! Former huge pages that are no longer mapped as such.

use super::Planted;
use super::look::status;
use super::place::Place;
use super::preconditions::{Fact, demand};
use super::span::{READ_WRITE, Span};
use crate::Trouble;
use crate::region::page_bytes;

/// `MADV_GUARD_INSTALL` (Linux 6.13, include/uapi/asm-generic/mman-common.h).
const GUARD_INSTALL: i32 = 102;

/// Two huge pages, advised and written.
fn huge() -> Result<Span, Trouble> {
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    span.write();
    Fact::Field("AnonHugePages", span.bytes()).check(span)?;
    Ok(span)
}

/// One page in the middle was read-only for a while.
pub(super) fn protected(_: &Place) -> Result<Planted, Trouble> {
    let span = huge()?;
    for page in span.middles() {
        page.protect(libc::PROT_READ)?;
        page.protect(READ_WRITE)?;
    }
    Ok(Planted::small(span, [Fact::Mappings(1), Fact::Flag("hg")]))
}

/// One page in the middle was freed.
pub(super) fn partly_freed(_: &Place) -> Result<Planted, Trouble> {
    let span = huge()?;
    for page in span.middles() {
        page.advise(libc::MADV_DONTNEED)?;
    }
    Ok(Planted::small_but(
        span,
        span.huge_pages(),
        [Fact::Flag("hg")],
    ))
}

/// Written by a child that shares the huge pages with its parent. The child is the plant.
pub(super) fn written_after_fork(_: &Place) -> Result<Planted, Trouble> {
    let span = huge()?;
    super::fork::become_child()?;
    span.middles().for_each(Span::write);
    Ok(Planted::small(span, [Fact::Mappings(1), Fact::Flag("hg")]))
}

/// A guard page in the middle, installed before the rest was written.
pub(super) fn guarded(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    for page in span.middles() {
        page.try_advise(GUARD_INSTALL).map_err(|_| {
            Trouble::NotHere("this kernel has no MADV_GUARD_INSTALL (Linux 6.13)".to_owned())
        })?;
    }
    for (around, guard) in span.pieces(crate::region::huge_bytes()).zip(span.middles()) {
        let before = guard.start - around.start;
        around.part(0, before).write();
        let behind = before + guard.bytes();
        around.part(behind, around.bytes() - behind).write();
    }
    Ok(Planted::small_but(
        span,
        span.huge_pages(),
        [Fact::Flag("hg")],
    ))
}

/// Freed page by page: only the page table is left, which keeps huge pages out.
pub(super) fn emptied(_: &Place) -> Result<Planted, Trouble> {
    let span = emptied_span()?;
    Ok(Planted::new(span, vec![Fact::Present(0), Fact::Flag("hg")]))
}

/// The same, used again: only small pages appear.
pub(super) fn emptied_and_used(_: &Place) -> Result<Planted, Trouble> {
    let span = emptied_span()?;
    span.middles().for_each(Span::write);
    let gone = span.pages() - span.huge_pages();
    Ok(Planted::small_but(span, gone, [Fact::Flag("hg")]))
}

fn emptied_span() -> Result<Span, Trouble> {
    let span = huge()?;
    // The first page splits the mapping into a table of small pages.
    let mut pages = span.pieces(page_bytes());
    if let Some(first) = pages.next() {
        first.advise(libc::MADV_DONTNEED)?;
    }
    let tables = status("VmPTE");
    for page in pages {
        page.advise(libc::MADV_DONTNEED)?;
    }
    demand(tables.is_some() && status("VmPTE") >= tables, || {
        "the kernel freed the page tables".to_owned()
    })?;
    Ok(span)
}
