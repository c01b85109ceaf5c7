//! Shared memory, which has a separate policy.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::Planted;
use super::place::Place;
use super::preconditions::Fact;
use super::span::{READ_WRITE, Span};
use crate::Trouble;

/// Shared anonymous memory on a huge-page boundary, advised.
pub(super) fn anonymous() -> Result<Span, Trouble> {
    let span = Span::reserve(2)?;
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    span.map(READ_WRITE, flags, -1, 0)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    Ok(span)
}

/// Shared anonymous memory while its policy gives small pages.
pub(super) fn small_anonymous(_: &Place) -> Result<Planted, Trouble> {
    let span = anonymous()?;
    span.write();
    Ok(Planted::small(span, [Fact::Flag("hg")]))
}

/// A file without a name (`memfd_create`).
pub(super) fn small_nameless(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::reserve(2)?;
    let file = nameless_file(span.bytes())?;
    span.map(READ_WRITE, libc::MAP_SHARED, file.as_raw_fd(), 0)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    span.write();
    Ok(Planted::small(span, [Fact::Flag("hg")]))
}

fn nameless_file(bytes: usize) -> Result<OwnedFd, Trouble> {
    // SAFETY: the name is a string of C.
    let file = unsafe { libc::memfd_create(c"hugewise-plant".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(Trouble::last("making a file in memory"));
    }
    // SAFETY: the descriptor is fresh and belongs to nobody else.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    // SAFETY: our own descriptor.
    if unsafe { libc::ftruncate(file.as_raw_fd(), bytes as i64) } != 0 {
        return Err(Trouble::last("sizing a file in memory"));
    }
    Ok(file)
}

/// A file of `/dev/shm`, mounted with `huge=never`, the default.
pub(super) fn small_named(place: &Place) -> Result<Planted, Trouble> {
    let span = Span::reserve(2)?;
    let file = place.memory_file(span.bytes())?;
    file.map(span, READ_WRITE, libc::MAP_SHARED, 0)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    span.write();
    Ok(Planted::small(span, [Fact::Flag("hg")]))
}
