//! A mapping of a part of a file in this process, aligned to huge pages.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr;

use hugewise_base::missing::Missing;

use crate::spawn::page_scan;

/// The access of a window.
#[derive(Clone, Copy, Debug)]
pub(in crate::apply) enum Access {
    /// Reading.
    Read,
    /// Reading and executing: `MADV_COLLAPSE` of files requires it before Linux 7.2.
    Execute,
}

/// A private mapping of a part of a file; unmapped on drop.
#[derive(Debug)]
pub(in crate::apply) struct Window {
    /// The reserved addresses.
    room: Range<usize>,
    /// The address of the file's range.
    start: usize,
    bytes: usize,
}

impl Window {
    /// Maps a range of a file, from a block-aligned offset, at a block-aligned address.
    pub(in crate::apply) fn open(
        file: &File,
        range: &Range<u64>,
        block: u64,
        access: Access,
    ) -> io::Result<Self> {
        let bytes = (range.end - range.start) as usize;
        let block = block as usize;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let room = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes + block,
                libc::PROT_NONE,
                flags,
                -1,
                0,
            )
        };
        if room == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let first = room.addr();
        // Its drop unmaps the reservation on every later return.
        let window = Self {
            room: first..first + bytes + block,
            start: first.next_multiple_of(block),
            bytes,
        };
        let access = match access {
            Access::Read => libc::PROT_READ,
            Access::Execute => libc::PROT_READ | libc::PROT_EXEC,
        };
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
        let offset = libc::off_t::try_from(range.start).map_err(io::Error::other)?;
        let place = room.with_addr(window.start);
        // SAFETY: the range is inside the reservation, which nothing else uses.
        let mapped = unsafe { libc::mmap(place, bytes, access, flags, file.as_raw_fd(), offset) };
        match mapped == libc::MAP_FAILED {
            true => Err(io::Error::last_os_error()),
            false => Ok(window),
        }
    }

    /// Gives advice about the whole window.
    pub(in crate::apply) fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        self.advise_part(0..self.bytes as u64, advice)
    }

    /// Gives advice about a part of it.
    pub(in crate::apply) fn advise_part(
        &self,
        part: Range<u64>,
        advice: libc::c_int,
    ) -> io::Result<()> {
        let bytes = (part.end - part.start) as usize;
        let place = ptr::with_exposed_provenance_mut(self.start + part.start as usize);
        // SAFETY: the range is inside the mapping of this value, to whose memory nothing refers.
        match unsafe { libc::madvise(place, bytes, advice) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Maps all pages, and reads missing ones from disk. A file that became shorter is an error, not a
    /// signal.
    pub(in crate::apply) fn populate(&self) -> io::Result<()> {
        loop {
            match self.advise(libc::MADV_POPULATE_READ) {
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                populated => return populated,
            }
        }
    }

    /// Returns the bytes mapped by PMDs.
    pub(in crate::apply) fn huge_bytes(&self) -> Result<u64, Missing> {
        let pagemap = page_scan::open(std::process::id())?;
        let start = self.start as u64;
        page_scan::huge_bytes(&pagemap, start..start + self.bytes as u64)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let place = ptr::with_exposed_provenance_mut(self.room.start);
        // SAFETY: the reservation is of this value, and nothing refers to it.
        unsafe { libc::munmap(place, self.room.end - self.room.start) };
    }
}
