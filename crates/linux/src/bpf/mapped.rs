//! Maps an array of the programs into memory, so that reading a value needs no system call.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, ptr};

/// Words written by programs and read by this process.
#[derive(Debug)]
pub(super) struct MappedWords {
    start: *mut u64,
    words: usize,
}

// SAFETY: the mapping belongs to this value only and is only touched through it.
unsafe impl Send for MappedWords {}

impl MappedWords {
    /// Maps an array (`BPF_F_MMAPABLE`, Linux 5.5), or any other file.
    ///
    /// # Errors
    /// The error of the kernel.
    pub(super) fn map(file: BorrowedFd<'_>, words: usize) -> io::Result<Self> {
        let (bytes, fd) = (words * size_of::<u64>(), file.as_raw_fd());
        let (access, flags) = (libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            start: start.cast(),
            words,
        })
    }

    /// Returns the current value of a word; 0 beyond the end.
    pub(super) fn load(&self, index: usize, order: Ordering) -> u64 {
        if index >= self.words {
            return 0;
        }
        // SAFETY: the word is within the mapping, is aligned, and is written as one.
        unsafe { AtomicU64::from_ptr(self.start.add(index)) }.load(order)
    }
}

impl Drop for MappedWords {
    fn drop(&mut self) {
        let bytes = self.words * size_of::<u64>();
        // SAFETY: the mapping was made by `map` with this length, and nothing refers to it.
        unsafe { libc::munmap(self.start.cast(), bytes) };
    }
}
