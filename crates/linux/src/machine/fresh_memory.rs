//! Fresh memory of our own, whose pages are known: nothing has touched it.

use std::{io, ptr};

/// Memory that is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct FreshMemory {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for FreshMemory {}

impl FreshMemory {
    /// Maps so many bytes.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            start: start.cast(),
            bytes,
        })
    }

    /// The first place in it that is a multiple of `to`.
    pub(crate) fn aligned(&self, to: usize) -> *mut u8 {
        let offset = (self.start as usize).next_multiple_of(to) - self.start as usize;
        self.start.wrapping_add(offset)
    }
}

impl Drop for FreshMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length, and nothing refers to it.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
