//! Fresh memory of this process, with known pages: nothing has touched it.

use std::{io, ptr};

/// Memory unmapped on drop.
#[derive(Debug)]
pub(crate) struct FreshMemory {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value only.
unsafe impl Send for FreshMemory {}

impl FreshMemory {
    /// Maps this many bytes.
    ///
    /// # Errors
    /// The error of the kernel.
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

    /// Returns the first address in it that is a multiple of `to`.
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
