//! Memory that was never written.

use std::sync::atomic::{AtomicU8, Ordering};

use super::Planted;
use super::place::Place;
use super::preconditions::{Fact, demand};
use super::span::Span;
use crate::Trouble;
use crate::region::{faults, page_bytes};

/// Mapped, advised, never used.
pub(super) fn untouched(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    let facts = vec![Fact::Present(0), Fact::Swapped(0), Fact::Mappings(1)];
    Ok(Planted::new(span, facts))
}

/// Only read: every huge page is the shared huge zero page, mapped by one fault.
pub(super) fn huge(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    let before = faults();
    span.read();
    let taken = faults() - before;
    // The program's own pages may fault as well.
    let few = span.huge_pages() + 8;
    demand((taken as usize) <= few, || {
        format!("{taken} faults instead of {few} at most")
    })?;
    Ok(zero(span))
}

/// Only read, by small pages, and advised afterwards.
pub(super) fn small(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_NOHUGEPAGE)?;
    let before = faults();
    span.read();
    let taken = faults() - before;
    let all = span.pages();
    demand(taken as usize >= all, || {
        format!("{taken} faults instead of {all}")
    })?;
    span.advise(libc::MADV_HUGEPAGE)?;
    Ok(zero(span))
}

/// Pages that are in the page table but use no memory.
fn zero(span: Span) -> Planted {
    let facts = vec![
        Fact::Present(span.pages()),
        Fact::Field("Rss", 0),
        Fact::Flag("hg"),
    ];
    Planted::new(span, facts)
}

/// First touched by an atomic addition of zero, as old Java virtual machines do. If the processor faults for a read
/// (Arm), this maps the huge zero page, which kernels that copy a small page of it (5.8 to 6.12) split.
pub(super) fn by_atomics(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    for page in span.pieces(page_bytes()) {
        // SAFETY: the byte is writable memory of this plant, and used atomically only.
        let byte = unsafe { AtomicU8::from_ptr(page.pointer().cast()) };
        byte.fetch_add(0, Ordering::Relaxed);
    }
    let planted = Planted::small(span, [Fact::Flag("hg")]);
    planted.check().map_err(|_| {
        let what = "on this processor and kernel an atomic addition makes a huge page";
        Trouble::NotHere(what.to_owned())
    })?;
    Ok(planted)
}
