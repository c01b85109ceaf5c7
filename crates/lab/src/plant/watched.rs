//! Memory that is in use elsewhere: userfaultfd, KSM, pins, kernel buffers.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};
use std::{fs, ptr};

use super::Planted;
use super::place::Place;
use super::preconditions::{Fact, demand};
use super::span::{READ_WRITE, Span};
use crate::Trouble;
use crate::region::{huge_bytes, page_bytes};
use crate::userfault::Userfault;

/// How long KSM may take: it scans each page three times, and yields to every other process.
const MERGED_WITHIN: Duration = Duration::from_secs(60);

/// Small pages that userfaultfd watches for missing ones.
pub(super) fn by_userfaultfd(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.write_small_then_advise()?;
    let watcher = Userfault::open()
        .map_err(|error| Trouble::NotHere(format!("userfaultfd is refused: {error}")))?;
    watcher
        .watch(span.start, span.bytes())
        .map_err(|error| Trouble::Kernel("registering memory with userfaultfd", error))?;
    Ok(Planted::small(span, [Fact::Flag("um")]).keeping(watcher))
}

/// Pages of equal content that KSM has merged.
pub(super) fn merged(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.write_small_then_advise()?;
    span.try_advise(libc::MADV_MERGEABLE)
        .map_err(|_| Trouble::NotHere("this kernel has no KSM".to_owned()))?;
    let began = Instant::now();
    while merging_pages()? < span.pages() - 1 {
        if began.elapsed() > MERGED_WITHIN {
            let merged = merging_pages()?;
            return Err(Trouble::Premise(format!(
                "KSM merged {merged} of {} pages in {} s",
                span.pages(),
                MERGED_WITHIN.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(Planted::small(span, [Fact::Flag("mg"), Fact::Flag("hg")]))
}

/// Pages of this process that KSM has merged (Linux 5.19).
fn merging_pages() -> Result<usize, Trouble> {
    let text = fs::read_to_string("/proc/self/ksm_merging_pages").map_err(|_| {
        Trouble::NotHere("this kernel does not count the pages KSM merged (Linux 5.19)".to_owned())
    })?;
    Ok(text.trim().parse().unwrap_or(0))
}

/// Small pages, some in a pipe (`vmsplice`): a page with other references cannot be moved, so these cannot be
/// collapsed.
pub(super) fn in_a_pipe(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.write_small_then_advise()?;
    let (reading, writing) = crate::planted::pipe()?;
    for page in span.middles() {
        let piece = libc::iovec {
            iov_base: page.pointer(),
            iov_len: page_bytes(),
        };
        // SAFETY: the page stays mapped and unchanged as long as the pipe is open.
        let spliced = unsafe { libc::vmsplice(writing.as_raw_fd(), &raw const piece, 1, 0) };
        demand(spliced == page_bytes() as isize, || {
            format!("vmsplice took {spliced} bytes of a page")
        })?;
    }
    refuses_to_collapse(span)?;
    Ok(Planted::small(span, [Fact::Flag("hg")]).keeping((reading, writing)))
}

/// Only an attempt to collapse shows a pin.
fn refuses_to_collapse(span: Span) -> Result<(), Trouble> {
    match span
        .try_advise(libc::MADV_COLLAPSE)
        .map_err(|error| error.raw_os_error())
    {
        Ok(()) => Err(Trouble::Premise(
            "the pinned pages were collapsed".to_owned(),
        )),
        Err(Some(libc::EINVAL)) => Err(Trouble::NotHere(
            "this kernel has no MADV_COLLAPSE (Linux 6.1)".to_owned(),
        )),
        Err(_) => Ok(()),
    }
}

/// The buffer of a perf counter, as long as a huge page: kernel pages, mapped one by one.
pub(super) fn kernel_buffer(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::reserve(2)?;
    let counter = counter()?;
    // One page of description, then a power of two pages of data.
    let whole = span.part(0, huge_bytes() + page_bytes());
    whole
        .map(READ_WRITE, libc::MAP_SHARED, counter.as_raw_fd(), 0)
        .map_err(|_| Trouble::NotHere("a counter's buffer may not be so long".to_owned()))?;
    let span = span.part(0, huge_bytes());
    span.read();
    // If the kernel maps its buffer by frame numbers (Linux 6.15), `pagemap` is empty.
    let facts = vec![
        Fact::SomeFlag(&["io", "pf", "mm", "de"]),
        Fact::NoFlag("hg"),
    ];
    Ok(Planted::new(span, facts).keeping(counter))
}

/// A counter of nothing (`PERF_COUNT_SW_DUMMY`) for this process, in user mode only.
fn counter() -> Result<OwnedFd, Trouble> {
    const SOFTWARE: u32 = 1;
    const DUMMY: u64 = 9;
    const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 0b110_0000;
    /// `PERF_ATTR_SIZE_VER0`, which every kernel accepts.
    const BYTES: u32 = 64;
    // `struct perf_event_attr`: kind and size share the first word; the sixth holds the flags.
    let kind = u64::from_ne_bytes(kind_and_size(SOFTWARE, BYTES));
    let mut attributes = [kind, DUMMY, 0, 0, 0, EXCLUDE_KERNEL_AND_HYPERVISOR, 0, 0];
    let (own, any) = (0, -1);
    // SAFETY: the structure is as long as it says, and lives through the call.
    let file = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            ptr::from_mut(&mut attributes),
            own,
            any,
            any,
            0,
        )
    };
    let Ok(file @ 0..) = i32::try_from(file) else {
        let error = std::io::Error::last_os_error();
        return Err(Trouble::NotHere(format!("counters are refused: {error}")));
    };
    // SAFETY: the descriptor is fresh and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

fn kind_and_size(kind: u32, bytes: u32) -> [u8; 8] {
    let mut both = [0; 8];
    both[..4].copy_from_slice(&kind.to_ne_bytes());
    both[4..].copy_from_slice(&bytes.to_ne_bytes());
    both
}
