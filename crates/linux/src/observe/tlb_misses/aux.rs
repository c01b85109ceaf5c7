use std::os::fd::RawFd;
use std::{io, ptr};

use crate::perf::ring::Ring;

/// The mapped AUX area of an event: the hardware writes to it, and the ring announces each written piece.
#[derive(Debug)]
pub(super) struct Aux {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value only and is only touched through it.
unsafe impl Send for Aux {}

impl Aux {
    /// Maps an area of `bytes`, a power of two of pages, after the ring of the same event. It is mapped writable, so
    /// that the kernel waits until a piece is released.
    ///
    /// # Errors
    /// The kernel's error: the event has no such area, or the size exceeds the limit of locked memory.
    pub(super) fn map(event: RawFd, ring: &mut Ring, bytes: usize) -> io::Result<Self> {
        let offset = ring.announce_aux(bytes);
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                access,
                libc::MAP_SHARED,
                event,
                offset,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            start: start.cast(),
            bytes,
        })
    }

    /// Copies a piece, which may wrap around the end of the area. A piece longer than the area is invalid, and is
    /// truncated to it.
    pub(super) fn copy(&self, offset: u64, bytes: u64) -> Vec<u8> {
        let length = usize::try_from(bytes).unwrap_or(self.bytes).min(self.bytes);
        let at = usize::try_from(offset % self.bytes as u64).unwrap_or(0);
        let first = length.min(self.bytes - at);
        let mut piece = vec![0; length];
        // SAFETY: both parts are within the area, and the hardware does not write into a piece that the kernel has
        // handed over and this process has not released.
        unsafe {
            ptr::copy_nonoverlapping(self.start.add(at), piece.as_mut_ptr(), first);
            ptr::copy_nonoverlapping(self.start, piece.as_mut_ptr().add(first), length - first);
        }
        piece
    }
}

impl Drop for Aux {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and nothing refers to it.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
