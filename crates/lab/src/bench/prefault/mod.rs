//! Methods of prefaulting memory, and the state that each leaves.
//!
//! The memory is advised according to the page policy before its first touch, if the method allows that. `MAP_POPULATE`
//! does not, because it fills the mapping before it can be advised. Afterwards every page is written once, because
//! memory counts as prefaulted only if that takes no further fault.

use std::io;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::backing::Request;
use super::thread::Usage;
use crate::plant::look::counter;
use crate::plant::span::{READ_WRITE, Span};
use crate::region::{self, huge_bytes, page_bytes};

mod cell;

pub(super) use cell::measure;

/// A method of prefaulting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// A load from every page.
    Load,
    /// A store to every page.
    Store,
    /// A load from and then a store to every page.
    LoadStore,
    /// An atomic addition of 0 to every page, as Java 18 to 22 touch their heap.
    AtomicAdd,
    /// Zeroes over all of it.
    Memset,
    /// `mmap` with `MAP_POPULATE`.
    MapPopulate,
    /// `MADV_POPULATE_READ` (Linux 5.14).
    PopulateRead,
    /// `MADV_POPULATE_WRITE` (Linux 5.14).
    PopulateWrite,
    /// A store to one page of every huge page, and then `MADV_COLLAPSE` (Linux 6.1).
    Collapse,
    /// `mlock`.
    Lock,
    /// `MADV_WILLNEED`, which for anonymous memory only reads back swapped pages.
    WillNeed,
}

/// Every method by its name, in the order of the output.
pub(crate) const METHODS: [(&str, Method); 11] = [
    ("load", Method::Load),
    ("store", Method::Store),
    ("load-store", Method::LoadStore),
    ("atomic-add", Method::AtomicAdd),
    ("memset", Method::Memset),
    ("map-populate", Method::MapPopulate),
    ("populate-read", Method::PopulateRead),
    ("populate-write", Method::PopulateWrite),
    ("collapse", Method::Collapse),
    ("mlock", Method::Lock),
    ("willneed", Method::WillNeed),
];

/// The cost of prefaulting, or of the writes afterwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brought {
    /// From the first thread's start to the last one's end.
    pub(crate) time: Duration,
    /// Faults of the threads.
    pub(crate) faults: u64,
    /// Huge mappings split at that time on the whole machine (`thp_split_pmd`).
    pub(crate) splits: Option<u64>,
}

/// One measured pass over a span by several threads. The advice of the page policy was given before, unless the method
/// gives it.
///
/// # Errors
/// The kernel's first refusal, from the thread that received it.
fn bring_in(span: Span, threads: usize, method: Method, request: Request) -> io::Result<Brought> {
    if let Method::AtomicAdd = method {
        region::can_add_0()?;
    }
    pass(span, threads, |part| method.apply(part, request))
}

/// Stores to every page with the same number of threads, as the program that uses the memory would.
fn write_all(span: Span, threads: usize) -> io::Result<Brought> {
    pass(span, threads, |part| {
        part.write();
        Ok(())
    })
}

fn advise(span: Span, request: Request) -> io::Result<()> {
    match request {
        Request::Plain | Request::Hugetlb(_) => Ok(()),
        Request::Advised => span.try_advise(libc::MADV_HUGEPAGE),
        Request::Small => span.try_advise(libc::MADV_NOHUGEPAGE),
    }
}

impl Method {
    /// The request to apply before the clock starts: none if the method itself maps or advises.
    fn laid_out(self, request: Request) -> Request {
        match (self, request) {
            (Self::MapPopulate | Self::Collapse, Request::Advised | Request::Small) => {
                Request::Plain
            }
            _ => request,
        }
    }

    fn apply(self, part: Span, request: Request) -> io::Result<()> {
        match self {
            Self::Load => part.read(),
            Self::Store => part.write(),
            Self::LoadStore => load_and_store(part),
            Self::AtomicAdd => add_0(part),
            Self::Memset => zero(part),
            Self::MapPopulate => map_populated(part, request)?,
            Self::PopulateRead => part.try_advise(libc::MADV_POPULATE_READ)?,
            Self::PopulateWrite => part.try_advise(libc::MADV_POPULATE_WRITE)?,
            Self::Collapse => collapse(part, request)?,
            Self::Lock => lock(part)?,
            Self::WillNeed => part.try_advise(libc::MADV_WILLNEED)?,
        }
        Ok(())
    }
}

fn load_and_store(part: Span) {
    for page in part.pieces(page_bytes()) {
        let word = page.pointer().cast::<u8>();
        // SAFETY: the span is mapped, readable and writable, and nobody else uses it.
        unsafe { word.write_volatile(word.read_volatile()) };
    }
}

fn add_0(part: Span) {
    for page in part.pieces(page_bytes()) {
        // SAFETY: the span is mapped and writable, a page boundary is aligned for a word, and the caller has asked
        // whether the processor has the instruction.
        unsafe { region::add_0(page.pointer().cast()) };
    }
}

fn zero(part: Span) {
    // SAFETY: the span is mapped and writable, and nobody else uses it.
    unsafe { libc::memset(part.pointer(), 0, part.bytes()) };
}

fn map_populated(part: Span, request: Request) -> io::Result<()> {
    let pool = match request {
        Request::Hugetlb(size) => {
            libc::MAP_HUGETLB | ((size.ilog2() as i32) << libc::MAP_HUGE_SHIFT)
        }
        _ => 0,
    };
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    let flags = private | libc::MAP_POPULATE | pool;
    // SAFETY: the span is the laboratory's own; nothing refers to what is replaced.
    let mapped = unsafe { libc::mmap(part.pointer(), part.bytes(), READ_WRITE, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    advise(part, request)
}

/// Stores before it advises. If huge pages need advice, the stores allocate small pages, which the call then collapses.
/// Without any page there would be nothing to collapse.
fn collapse(part: Span, request: Request) -> io::Result<()> {
    for each in part.pieces(huge_bytes()) {
        each.part(0, page_bytes()).write();
    }
    advise(part, request)?;
    part.try_advise(libc::MADV_COLLAPSE)
}

fn lock(part: Span) -> io::Result<()> {
    // SAFETY: locking changes neither content nor access; unmapping unlocks.
    match unsafe { libc::mlock(part.pointer(), part.bytes()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Runs `work` over equal parts of the span, one thread each, started at the same moment.
fn pass(
    span: Span,
    threads: usize,
    work: impl Fn(Span) -> io::Result<()> + Sync,
) -> io::Result<Brought> {
    let parts = split(span, threads);
    let barrier = Barrier::new(parts.len());
    let (start, work) = (&barrier, &work);
    let before = counter("thp_split_pmd");
    let done: Vec<io::Result<Part>> = std::thread::scope(|scope| {
        let running: Vec<_> = parts
            .iter()
            .map(|&part| scope.spawn(move || timed(part, start, work)))
            .collect();
        let joined = running.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined
            .map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let splits = before.zip(counter("thp_split_pmd"));
    let done = done.into_iter().collect::<io::Result<Vec<Part>>>()?;
    let first = done.iter().map(|each| each.begun).min();
    let last = done.iter().map(|each| each.ended).max();
    Ok(Brought {
        time: first
            .zip(last)
            .map_or(Duration::ZERO, |(first, last)| last - first),
        faults: done.iter().map(|each| each.faults).sum(),
        splits: splits.map(|(before, after)| after.saturating_sub(before)),
    })
}

/// The result of one thread.
struct Part {
    begun: Instant,
    ended: Instant,
    faults: u64,
}

/// Reads the clock and the counter once before, so that their own pages are loaded.
fn timed(part: Span, start: &Barrier, work: impl Fn(Span) -> io::Result<()>) -> io::Result<Part> {
    // Loads the stack pages that `work` will use, so that they do not fault in the measurement.
    let _ = work(part.part(0, 0));
    let _ = (Instant::now(), Usage::now());
    start.wait();
    let before = Usage::now();
    let begun = Instant::now();
    let outcome = work(part);
    let ended = Instant::now();
    let faults = Usage::now().since(before).faults;
    outcome.map(|()| Part {
        begun,
        ended,
        faults,
    })
}

/// Equal parts that begin on huge-page boundaries; the last one includes the rest.
fn split(span: Span, threads: usize) -> Vec<Span> {
    let pages = span.huge_pages();
    let threads = threads.clamp(1, pages.max(1));
    (0..threads)
        .map(|index| {
            let (from, to) = (pages * index / threads, pages * (index + 1) / threads);
            span.part(from * huge_bytes(), (to - from) * huge_bytes())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::backing::Buffer;
    use super::*;

    const HUGE_PAGES: usize = 8;

    fn brought(method: Method, request: Request, threads: usize) -> (Brought, Brought) {
        let bytes = HUGE_PAGES * huge_bytes();
        let buffer = Buffer::fresh(bytes, method.laid_out(request)).unwrap();
        let span = buffer.span();
        let first = bring_in(span, threads, method, request).unwrap();
        let then = write_all(span, threads).unwrap();
        (first, then)
    }

    fn pages() -> u64 {
        (HUGE_PAGES * huge_bytes() / page_bytes()) as u64
    }

    /// Small pages have exact counts everywhere: a method that writes takes one fault per page and leaves none; a
    /// method that reads leaves one for each.
    #[test]
    fn small_pages_are_counted_one_by_one() {
        for threads in [1, 3] {
            for (method, faults, later) in [
                (Method::Load, pages(), pages()),
                (Method::Store, pages(), 0),
                (Method::LoadStore, 2 * pages(), 0),
                (Method::Memset, pages(), 0),
                (Method::PopulateRead, pages(), pages()),
                (Method::PopulateWrite, pages(), 0),
                (Method::WillNeed, 0, pages()),
            ] {
                let (first, then) = brought(method, Request::Small, threads);
                let seen = (first.faults, then.faults);
                assert_eq!(seen, (faults, later), "{method:?} by {threads} threads");
            }
        }
    }

    /// x86 faults for the write at once; Arm's LSE atomics fault for the read first.
    #[test]
    fn an_atomic_addition_brings_memory_in() {
        if region::can_add_0().is_err() {
            println!("SKIP: no atomic addition in one instruction");
            return;
        }
        let (first, then) = brought(Method::AtomicAdd, Request::Small, 1);
        let each = if cfg!(target_arch = "aarch64") { 2 } else { 1 };
        assert_eq!((first.faults, then.faults), (each * pages(), 0));
    }

    #[test]
    fn a_mapping_filled_by_mmap_cannot_be_advised_before() {
        let always = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
            .is_ok_and(|text| text.contains("[always]"));
        if always {
            println!("SKIP: huge pages without advice");
            return;
        }
        let (first, then) = brought(Method::MapPopulate, Request::Advised, 1);
        assert_eq!((first.faults, then.faults), (pages(), 0));
    }

    #[test]
    fn parts_cover_the_span_once() {
        let span = Span::reserve(5).unwrap();
        for threads in [0, 1, 2, 3, 5, 9] {
            let parts = split(span, threads);
            assert_eq!(parts[0].start, span.start);
            assert_eq!(parts[parts.len() - 1].end, span.end);
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(parts.iter().all(|part| part.bytes() > 0));
        }
        span.unmap().unwrap();
    }
}
