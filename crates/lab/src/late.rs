//! Page faults that take as long as they are told to: a thread answers them late (userfaultfd).
//!
//! Constants and structures are those of include/uapi/linux/userfaultfd.h.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::Trouble;
use crate::region::{Advice, Align, Region, page_bytes};

/// Faults of user mode alone: what an unprivileged process may ask for (Linux 5.11).
const USER_MODE_ONLY: libc::c_int = 1;
const API: u64 = 0xaa;
const REGISTER_MISSING: u64 = 1;
const IOCTL_API: libc::c_ulong = 0xc018_aa3f;
const IOCTL_REGISTER: libc::c_ulong = 0xc020_aa00;
const IOCTL_ZEROPAGE: libc::c_ulong = 0xc020_aa04;

#[repr(C)]
struct Features {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Registration {
    start: u64,
    length: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct ZeroPage {
    start: u64,
    length: u64,
    mode: u64,
    filled: i64,
}

/// `struct uffd_msg`.
#[repr(C)]
struct Message {
    words: [u64; 4],
}

/// A page whose first touch takes long.
pub(crate) struct LatePage {
    region: Region,
}

impl LatePage {
    /// A page of which each fault is answered after `wait`.
    pub(crate) fn new(wait: Duration) -> Result<Self, Trouble> {
        let region = Region::fresh(1, Align::Page, Advice::None)?;
        let watch = watched(&region).map_err(|error| Trouble::Kernel("userfaultfd", error))?;
        let at = region.start().addr() as u64;
        std::thread::spawn(move || answer(&watch, at, wait));
        Ok(Self { region })
    }

    /// Touches the page afresh: one fault, which takes at least as long as was asked for.
    pub(crate) fn touch(&self) -> Result<(), Trouble> {
        self.region.discard()?;
        self.region.write(page_bytes());
        Ok(())
    }
}

fn watched(region: &Region) -> io::Result<OwnedFd> {
    let flags = libc::O_CLOEXEC | USER_MODE_ONLY;
    // SAFETY: the call takes flags and nothing else.
    let fd = checked(unsafe { libc::syscall(libc::SYS_userfaultfd, flags) })?;
    // SAFETY: the kernel has just made this descriptor, and nobody else knows it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) };
    let mut features = Features {
        api: API,
        features: 0,
        ioctls: 0,
    };
    ask(&fd, IOCTL_API, &mut features)?;
    let mut registration = Registration {
        start: region.start().addr() as u64,
        length: page_bytes() as u64,
        mode: REGISTER_MISSING,
        ioctls: 0,
    };
    ask(&fd, IOCTL_REGISTER, &mut registration)?;
    Ok(fd)
}

/// Answers until the process ends.
fn answer(watch: &OwnedFd, page: u64, wait: Duration) {
    let mut message = Message { words: [0; 4] };
    let length = size_of::<Message>();
    loop {
        // SAFETY: the place is valid for as many bytes as are read at most.
        let read = unsafe { libc::read(watch.as_raw_fd(), (&raw mut message).cast(), length) };
        if read != length as isize {
            return;
        }
        std::thread::sleep(wait);
        let mut zero = ZeroPage {
            start: page,
            length: page_bytes() as u64,
            mode: 0,
            filled: 0,
        };
        if ask(watch, IOCTL_ZEROPAGE, &mut zero).is_err() {
            return;
        }
    }
}

fn ask<T>(fd: &OwnedFd, request: libc::c_ulong, about: &mut T) -> io::Result<()> {
    // SAFETY: each request is given the structure that it is defined with, which outlives the
    // call.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), request as _, &raw mut *about) };
    checked(result.into()).map(drop)
}

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}
