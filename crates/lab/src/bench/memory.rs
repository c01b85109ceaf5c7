//! `bench memory`: the speed of one kernel over blocks of one size.
//!
//! Cells are `OPERATION/KERNEL/BLOCK/SOURCE/THREADS`. Every thread has separate blocks, aligned to huge pages, and
//! touches them first. All threads do the same passes between two barriers; the time of a repeat lasts from the first
//! start to the last end.

use std::thread;

use super::backing::{Buffer, Request};
use super::kernels::{Arrays, Operation, Pass, find};
use super::line::{Line, print_missing};
use super::pages::Pages;
use super::threads::{Crew, repeat};
use super::timing::{self, Timed, time};
use super::{memory_budget, words};
use crate::Trouble;
use crate::missing::Reason;
use crate::region::huge_bytes;

/// Measures all cells, in order.
pub(super) fn run(cells: &[&str]) -> Result<(), Trouble> {
    let request = Request::from_environment()?;
    let parsed: Vec<Cell> = cells
        .iter()
        .map(|cell| parse(cell))
        .collect::<Result<_, _>>()?;
    memory_budget::be_first_to_go();
    harness();
    for (name, cell) in cells.iter().zip(parsed) {
        match measure(&cell, request) {
            Ok(measured) => measured.line(name, &cell).print(),
            Err(reason) => print_missing(name, &reason),
        }
    }
    Ok(())
}

/// The overhead of every measurement: the clock, and a pass that does nothing.
fn harness() {
    unsafe fn nothing(_: Arrays) {}
    let arrays = Arrays {
        destination: std::ptr::null_mut(),
        source: std::ptr::null(),
        third: std::ptr::null(),
        bytes: 0,
    };
    let pass: Pass = std::hint::black_box(nothing);
    // SAFETY: the pass touches nothing.
    let empty = time(|passes| unsafe { repeat(pass, arrays, passes) });
    let mut line = Line::of("harness")
        .metric("timer_seconds", timing::clock_seconds())
        .metric("empty_seconds", empty.median());
    if let Some(node) = node() {
        line = line.metric("node_total", f64::from(node));
    }
    line.print();
}

/// The NUMA node of the current processor.
pub(super) fn node() -> Option<u32> {
    let (mut cpu, mut node) = (0_u32, 0_u32);
    // SAFETY: both places are valid; the third argument is unused.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_getcpu,
            &raw mut cpu,
            &raw mut node,
            std::ptr::null::<libc::c_void>(),
        )
    };
    (answer == 0).then_some(node)
}

struct Cell {
    operation: Operation,
    kernel: String,
    block: usize,
    source: Source,
    threads: usize,
}

/// The preparation of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Written with bytes other than zero.
    Written,
    /// Written with zeros: some processors treat lines of zeros differently.
    Zeroed,
    /// Never written.
    Untouched,
}

const SOURCES: &[(&str, Source)] = &[
    ("written", Source::Written),
    ("zeroed", Source::Zeroed),
    ("untouched", Source::Untouched),
];

/// The content of memory before a measurement: small numbers other than zero, because arithmetic on denormal ones would
/// be slow.
const CONTENT: u8 = 0x3f;

fn parse(cell: &str) -> Result<Cell, Trouble> {
    let fault = || {
        Trouble::Usage(format!(
            "`{cell}` is not a cell of bench memory: OPERATION/KERNEL/BLOCK/SOURCE/THREADS"
        ))
    };
    let [operation, kernel, block, source, threads] = words(cell).ok_or_else(fault)?;
    let source = SOURCES.iter().find(|(name, _)| *name == source);
    let found = Cell {
        operation: Operation::named(operation).ok_or_else(fault)?,
        kernel: kernel.to_owned(),
        block: block.parse().map_err(|_| fault())?,
        source: source.ok_or_else(fault)?.1,
        threads: threads.parse().map_err(|_| fault())?,
    };
    // Loops work on words of 8 bytes, and a repeat needs a minimum of bytes to be timed.
    let fits = found.block >= 64 && found.block.is_multiple_of(8) && found.threads >= 1;
    let sense = found.source == Source::Written || found.operation.reads();
    (fits && sense).then_some(found).ok_or_else(fault)
}

/// The buffers of one thread.
struct Buffers {
    destination: Option<Buffer>,
    source: Option<Buffer>,
    third: Option<Buffer>,
}

// SAFETY: each thread gets buffers of its own, and nobody else touches them.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Allocates untouched buffers.
    fn fresh(cell: &Cell, request: Request) -> Result<Self, Reason> {
        let buffer = |wanted: bool| {
            wanted
                .then(|| Buffer::fresh(cell.block, request))
                .transpose()
        };
        Ok(Self {
            destination: buffer(cell.operation.writes())?,
            source: buffer(cell.operation.reads())?,
            third: buffer(cell.operation == Operation::Triad)?,
        })
    }

    /// Prepares the buffers as the cell requires. Writes whole huge pages and not only the block, so that a huge page
    /// exists for any block size. A pool page exists after its first byte, so in a pool only the block is written.
    fn prepare(&self, cell: &Cell) {
        let whole = cell.block.next_multiple_of(huge_bytes());
        let write = |buffer: &Option<Buffer>, content: u8| {
            if let Some(buffer) = buffer {
                let bytes = whole.min(buffer.bytes());
                // SAFETY: the buffer is that long, writable, and this thread's alone.
                unsafe { buffer.start().write_bytes(content, bytes) };
            }
        };
        write(&self.destination, CONTENT);
        let content = match cell.source {
            Source::Written => CONTENT,
            Source::Zeroed => 0,
            Source::Untouched => return,
        };
        write(&self.source, content);
        write(&self.third, content);
    }

    fn arrays(&self, block: usize) -> Arrays {
        let start = |buffer: &Option<Buffer>| {
            let start = buffer.as_ref().map(Buffer::start);
            start.unwrap_or(std::ptr::null_mut())
        };
        Arrays {
            destination: start(&self.destination),
            source: start(&self.source),
            third: start(&self.third),
            bytes: block,
        }
    }
}

/// The result of one cell.
struct Measured {
    timed: Timed,
    pages: Vec<(&'static str, Result<Pages, Reason>)>,
}

impl Measured {
    fn line<'a>(self, name: &'a str, cell: &Cell) -> Line<'a> {
        let bytes = cell.block * cell.operation.counted() * cell.threads;
        let line = Line::of(name)
            .metric("rate_bytes_per_second", bytes as f64 / self.timed.median())
            .metric("repeats_total", self.timed.repeats() as f64)
            .metric("spread_ratio", self.timed.spread());
        self.pages
            .into_iter()
            .fold(line, |line, (buffer, pages)| line.pages(buffer, pages))
    }
}

fn measure(cell: &Cell, request: Request) -> Result<Measured, Reason> {
    let pass = find(cell.operation, &cell.kernel)?;
    check_room(cell, request)?;
    let buffers = (0..cell.threads)
        .map(|_| Buffers::fresh(cell, request))
        .collect::<Result<Vec<_>, _>>()?;
    let crew = Crew::of(cell.threads);
    let (timed, buffers) = thread::scope(|scope| {
        let workers: Vec<_> = buffers
            .into_iter()
            .map(|buffers| scope.spawn(|| work(&crew, buffers, cell, pass)))
            .collect();
        crew.meet();
        let timed = time(|passes| crew.run(passes));
        crew.run(0);
        let buffers = workers.into_iter().filter_map(|worker| worker.join().ok());
        (timed, buffers.collect::<Vec<_>>())
    });
    Ok(Measured {
        timed,
        pages: look(&buffers, cell.block),
    })
}

/// The work of one thread; returns its buffers, still mapped.
fn work(crew: &Crew, buffers: Buffers, cell: &Cell, pass: Pass) -> Buffers {
    buffers.prepare(cell);
    let arrays = buffers.arrays(cell.block);
    // SAFETY: the buffers that the operation uses are there, as long as the block, and this thread's alone; `find` has
    // asked for the instructions.
    unsafe { crew.work(arrays, pass) };
    buffers
}

/// Refuses a size that does not fit, before anything is mapped.
fn check_room(cell: &Cell, request: Request) -> Result<(), Reason> {
    let operation = cell.operation;
    let triad = operation == Operation::Triad;
    let buffers = [operation.writes(), operation.reads(), triad];
    let count = buffers.into_iter().filter(|wanted| *wanted).count() * cell.threads;
    let needed = request.taken(cell.block).saturating_mul(count as u64);
    request.check_room(needed, "the blocks of this cell")
}

/// The pages of all threads' buffers, added up.
fn look(buffers: &[Buffers], block: usize) -> Vec<(&'static str, Result<Pages, Reason>)> {
    type Which = fn(&Buffers) -> Option<&Buffer>;
    let kinds: [(&'static str, Which); 3] = [
        ("destination", |one| one.destination.as_ref()),
        ("source", |one| one.source.as_ref()),
        ("third", |one| one.third.as_ref()),
    ];
    let looked = kinds.into_iter().filter_map(|(name, which)| {
        let mut found = buffers.iter().filter_map(which).map(|one| one.pages(block));
        let first = found.next()?;
        let sum = found.fold(first, |sum, next| Ok(sum?.plus(&next?)));
        Some((name, sum))
    });
    looked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_five_words() {
        let cell = parse("copy/libc/4096/written/2").expect("a cell");
        assert_eq!((cell.block, cell.threads), (4096, 2));
        assert_eq!(cell.source, Source::Written);
        for cell in [
            "copy/libc/4096/written",
            "copy/libc/4096/written/0",
            "copy/libc/4100/written/1",
            "swap/libc/4096/written/1",
            "fill/libc/4096/untouched/1",
            "fill/libc/4096/zeroed/1",
            "copy/libc/x/written/1",
            "copy/libc/4096/wet/1",
            "copy/libc/4096/written/1/1",
        ] {
            assert!(parse(cell).is_err(), "{cell}");
        }
    }

    #[test]
    fn a_cell_is_measured_and_its_pages_are_its_blocks() {
        let cell = parse("copy/libc/65536/written/2").expect("a cell");
        let measured = measure(&cell, Request::Small).expect("a measurement");
        assert!(measured.timed.median() > 0.0);
        assert_eq!(measured.pages.len(), 2);
        for (buffer, pages) in measured.pages {
            if let Ok(pages) = pages {
                assert_eq!(pages.total(), 131_072, "{buffer}");
                assert_eq!(pages.absent + pages.huge, 0, "{buffer}");
            }
        }
    }

    #[test]
    fn a_source_that_was_never_written_is_the_zero_page() {
        let cell = parse("copy/libc/65536/untouched/1").expect("a cell");
        let measured = measure(&cell, Request::Small).expect("a measurement");
        let source = measured.pages.iter().find(|(name, _)| *name == "source");
        if let Some((_, Ok(pages))) = source {
            assert_eq!(pages.zero, 65_536);
        }
    }

    #[test]
    fn a_source_of_written_zeros_is_memory_of_its_own() {
        let cell = parse("copy/libc/65536/zeroed/1").expect("a cell");
        let buffers = Buffers::fresh(&cell, Request::Small).expect("memory");
        buffers.prepare(&cell);
        let source = buffers.source.as_ref().expect("a source");
        // SAFETY: the buffer is that long, written, and nobody else touches it.
        let bytes = unsafe { std::slice::from_raw_parts(source.start(), source.bytes()) };
        assert!(bytes.iter().all(|&byte| byte == 0));
        if let Ok(pages) = source.pages(65_536) {
            assert_eq!((pages.small, pages.zero, pages.absent), (65_536, 0, 0));
        }
    }

    #[test]
    fn what_cannot_be_is_refused_before_anything_is_mapped() {
        let huge = parse("fill/libc/1099511627776/written/1").expect("a cell");
        assert!(matches!(
            measure(&huge, Request::Plain),
            Err(Reason::NotSupported(_))
        ));
        let unknown = parse("copy/mmx/4096/written/1").expect("a cell");
        assert!(matches!(
            measure(&unknown, Request::Plain),
            Err(Reason::NotSupported(_))
        ));
    }
}
