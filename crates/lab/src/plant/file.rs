//! Files in the page cache.

use super::Planted;
use super::place::{CacheFile, Place};
use super::preconditions::Fact;
use super::span::{READ_WRITE, Span};
use crate::Trouble;
use crate::region::{huge_bytes, page_bytes};

/// Mapped one page off the offset that would be aligned with its address.
pub(super) fn misaligned(place: &Place) -> Result<Planted, Trouble> {
    let span = Span::reserve(2)?;
    let file = place.file(span.bytes() + huge_bytes())?;
    file.leave_cache()?;
    file.map(span, libc::PROT_READ, libc::MAP_SHARED, page_bytes())?;
    span.read();
    Ok(Planted::small(span, []))
}

/// A file system that makes no large folios, even if asked to.
pub(super) fn no_large_folios(place: &Place) -> Result<Planted, Trouble> {
    let span = Span::reserve(2)?;
    let file = place.file(span.bytes())?;
    if makes_huge_folios(&file)? {
        return Err(Trouble::NotHere(format!(
            "the file system of {} makes huge pages for an advised file",
            place.folder().display()
        )));
    }
    file.map(span, libc::PROT_READ, libc::MAP_SHARED, 0)?;
    span.read();
    Ok(Planted::small(span, []))
}

/// A file read page by page, on a file system that supports large folios.
pub(super) fn small_folios(place: &Place) -> Result<Planted, Trouble> {
    let span = Span::reserve(2)?;
    let file = place.file(span.bytes())?;
    if !makes_huge_folios(&file)? {
        return Err(no_support(place));
    }
    file.leave_cache()?;
    file.read_singly()?;
    file.map(span, libc::PROT_READ, libc::MAP_SHARED, 0)?;
    span.read();
    Ok(Planted::small(span, []))
}

/// Written through a private mapping: every page is a copy that belongs to the process.
pub(super) fn private_copy(place: &Place) -> Result<Planted, Trouble> {
    let span = Span::reserve(2)?;
    let file = place.file(span.bytes())?;
    file.map(span, READ_WRITE, libc::MAP_PRIVATE, 0)?;
    span.write();
    Ok(Planted::small(span, [Fact::Anonymous(span.pages())]))
}

fn no_support(place: &Place) -> Trouble {
    Trouble::NotHere(format!(
        "the file system of {} makes no huge page for an advised file",
        place.folder().display()
    ))
}

/// Returns true if the file, cold and read through an advised mapping elsewhere, gets huge pages.
fn makes_huge_folios(file: &CacheFile) -> Result<bool, Trouble> {
    let trial = Span::reserve(2)?;
    file.leave_cache()?;
    file.map(trial, libc::PROT_READ, libc::MAP_SHARED, 0)?;
    trial.advise(libc::MADV_HUGEPAGE)?;
    trial.read();
    let huge = Fact::FieldAtLeast("FilePmdMapped", huge_bytes()).check(trial);
    trial.unmap()?;
    match huge {
        Ok(()) => Ok(true),
        Err(Trouble::Premise(_)) => Ok(false),
        Err(other) => Err(other),
    }
}
