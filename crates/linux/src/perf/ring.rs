use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, ptr};

/// `PERF_EVENT_IOC_SET_OUTPUT`, `_IO('$', 5)`.
pub(crate) const IOC_SET_OUTPUT: libc::Ioctl = 0x2405;

/// Length of `struct perf_event_header`: type (4), misc (2), size (2).
pub const HEADER_BYTES: usize = 8;

/// The offset of `data_head` in `struct perf_event_mmap_page` (linux/perf_event.h): after one KiB reserved for
/// extensions.
const HEAD_AT: usize = 1024;
/// The offset of `data_tail`.
const TAIL_AT: usize = 1032;
/// The offset of `aux_tail`.
#[cfg(feature = "tlb")]
const AUX_TAIL_AT: usize = 1064;
/// The offset of `aux_offset`.
#[cfg(feature = "tlb")]
const AUX_OFFSET_AT: usize = 1072;
/// The offset of `aux_size`.
#[cfg(feature = "tlb")]
const AUX_SIZE_AT: usize = 1080;

/// The mapped ring of one event: the kernel writes records, and this process reads them.
///
/// An unread ring fills up, and does not contain the loss: `PERF_RECORD_LOST` is written only if there is space for it
/// later. Only the counters' `PERF_FORMAT_LOST` reports every loss.
#[derive(Debug)]
pub struct Ring {
    page: *mut u8,
    page_bytes: usize,
    data_bytes: usize,
}

// SAFETY: the mapping belongs to this value only and is only touched through it.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `data_bytes`, a power of two of pages, on an event.
    ///
    /// # Errors
    /// The error of the kernel: `EPERM` if the size exceeds the memory that the user may lock
    /// (`kernel.perf_event_mlock_kb` per processor, and `RLIMIT_MEMLOCK`).
    pub fn map(event: BorrowedFd<'_>, page_bytes: usize, data_bytes: usize) -> io::Result<Self> {
        let length = page_bytes + data_bytes;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let fd = event.as_raw_fd();
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let page = unsafe { libc::mmap(ptr::null_mut(), length, access, libc::MAP_SHARED, fd, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            page: page.cast(),
            page_bytes,
            data_bytes,
        })
    }

    /// Returns the capacity for records, in bytes.
    #[must_use]
    pub fn data_bytes(&self) -> usize {
        self.data_bytes
    }

    /// Passes every available record to `take`, whole, and then frees its space.
    pub fn drain(&mut self, mut take: impl FnMut(&[u8])) {
        let head = self.position(HEAD_AT).load(Ordering::Acquire);
        let mut tail = self.position(TAIL_AT).load(Ordering::Relaxed);
        let mut wrapped = Vec::new();
        while tail < head {
            let mut header = [0; HEADER_BYTES];
            self.copy(tail, &mut header);
            let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            if size < HEADER_BYTES || size as u64 > head - tail {
                // Not a record: the kernel never writes this. The remaining data is dropped.
                tail = head;
                break;
            }
            let at = self.offset(tail);
            if at + size <= self.data_bytes {
                // SAFETY: the kernel has finished these bytes (acquire above) and does not
                // touch them again before the tail has passed them (release below).
                take(unsafe { std::slice::from_raw_parts(self.data().add(at), size) });
            } else {
                wrapped.resize(size, 0);
                self.copy(tail, &mut wrapped);
                take(&wrapped);
            }
            tail += size as u64;
        }
        self.position(TAIL_AT).store(tail, Ordering::Release);
    }

    /// Announces that an AUX area of `bytes` will be mapped after the ring; returns its offset for mmap(2).
    #[cfg(feature = "tlb")]
    pub(crate) fn announce_aux(&mut self, bytes: usize) -> usize {
        let offset = self.page_bytes + self.data_bytes;
        self.position(AUX_OFFSET_AT)
            .store(offset as u64, Ordering::Relaxed);
        self.position(AUX_SIZE_AT)
            .store(bytes as u64, Ordering::Release);
        offset
    }

    /// Releases the AUX area before a position to the kernel.
    #[cfg(feature = "tlb")]
    pub(crate) fn release_aux(&mut self, position: u64) {
        self.position(AUX_TAIL_AT)
            .store(position, Ordering::Release);
    }

    fn offset(&self, position: u64) -> usize {
        // The remainder is less than `data_bytes`, a `usize`.
        usize::try_from(position % self.data_bytes as u64).unwrap_or(0)
    }

    fn data(&self) -> *const u8 {
        // SAFETY: the data follow the first page of the same mapping.
        unsafe { self.page.add(self.page_bytes) }
    }

    /// Copies from a position; the data may wrap around the end of the ring.
    fn copy(&self, position: u64, to: &mut [u8]) {
        let at = self.offset(position);
        let first = to.len().min(self.data_bytes - at);
        // SAFETY: both parts are within the data, `to` is at most as long as a record, and the kernel does not write
        // between tail and head.
        unsafe {
            ptr::copy_nonoverlapping(self.data().add(at), to.as_mut_ptr(), first);
            ptr::copy_nonoverlapping(self.data(), to.as_mut_ptr().add(first), to.len() - first);
        }
    }

    fn position(&self, at: usize) -> &AtomicU64 {
        // SAFETY: the place is aligned, inside the first page, and written by the kernel or by
        // us as one word.
        unsafe { AtomicU64::from_ptr(self.page.add(at).cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and nothing refers to it.
        unsafe { libc::munmap(self.page.cast(), self.page_bytes + self.data_bytes) };
    }
}
