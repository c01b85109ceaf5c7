//! userfaultfd: a descriptor that reports missing pages and can fill them.
//!
//! Constants and structures are those of include/uapi/linux/userfaultfd.h.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `UFFD_USER_MODE_ONLY`: only faults in user mode, which need no privilege (Linux 5.11).
const USER_MODE_ONLY: libc::c_int = 1;
/// `UFFD_API`.
const API: u64 = 0xaa;
/// `UFFDIO_REGISTER_MODE_MISSING`.
const MISSING: u64 = 1;
const UFFDIO_API: libc::c_ulong = request(0x3f, size_of::<Hello>());
const UFFDIO_REGISTER: libc::c_ulong = request(0x00, size_of::<Registration>());
const UFFDIO_ZEROPAGE: libc::c_ulong = request(0x04, size_of::<ZeroPage>());

/// `struct uffdio_api`.
#[repr(C)]
struct Hello {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// `struct uffdio_register`.
#[repr(C)]
struct Registration {
    start: u64,
    bytes: u64,
    mode: u64,
    ioctls: u64,
}

/// `struct uffdio_zeropage`.
#[repr(C)]
struct ZeroPage {
    start: u64,
    bytes: u64,
    mode: u64,
    filled: i64,
}

/// `struct uffd_msg`.
#[repr(C)]
struct Message {
    words: [u64; 4],
}

/// `_IOWR(0xAA, number, size)`, the same on x86-64 and AArch64.
const fn request(number: libc::c_ulong, bytes: usize) -> libc::c_ulong {
    3 << 30 | (bytes as libc::c_ulong) << 16 | 0xaa << 8 | number
}

/// A userfaultfd descriptor.
pub(crate) struct Userfault(OwnedFd);

impl Userfault {
    /// Opens a descriptor; fails if the kernel has no userfaultfd or refuses it.
    pub(crate) fn open() -> io::Result<Self> {
        // SAFETY: only flags are passed.
        let file =
            unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | USER_MODE_ONLY) };
        let Ok(file @ 0..) = i32::try_from(file) else {
            return Err(io::Error::last_os_error());
        };
        // SAFETY: the descriptor is fresh and belongs to nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(file) }))
    }

    /// Registers this memory, so that its missing pages are reported.
    pub(crate) fn watch(&self, start: usize, bytes: usize) -> io::Result<()> {
        self.ask(
            UFFDIO_API,
            &mut Hello {
                api: API,
                features: 0,
                ioctls: 0,
            },
        )?;
        self.ask(
            UFFDIO_REGISTER,
            &mut Registration {
                start: start as u64,
                bytes: bytes as u64,
                mode: MISSING,
                ioctls: 0,
            },
        )
    }

    /// Waits for a missing page.
    pub(crate) fn wait(&self) -> io::Result<()> {
        let mut message = Message { words: [0; 4] };
        let length = size_of::<Message>();
        // SAFETY: the place is valid for as many bytes as are read at most.
        let read = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut message).cast(), length) };
        if read == length as isize {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Fills this memory with zeros, and wakes the threads that wait for it.
    pub(crate) fn fill(&self, start: usize, bytes: usize) -> io::Result<()> {
        self.ask(
            UFFDIO_ZEROPAGE,
            &mut ZeroPage {
                start: start as u64,
                bytes: bytes as u64,
                mode: 0,
                filled: 0,
            },
        )
    }

    fn ask<T>(&self, request: libc::c_ulong, about: &mut T) -> io::Result<()> {
        // SAFETY: each request is given the structure that it is defined with, which outlives
        // the call.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, &raw mut *about) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
