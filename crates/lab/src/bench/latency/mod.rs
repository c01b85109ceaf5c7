//! `bench latency`: the time of a load on which the next load depends.
//!
//! Cells are `FOOTPRINT`, in bytes, or `FOOTPRINT/MILLISECONDS`, for comparison with programs that have repeats of that
//! length. All footprints are at the start of one buffer, so the memory of a small one is part of the next: in
//! ascending order each page is loaded once and each line is inserted into the cycle once.

use std::time::{Duration, Instant};

use super::backing::{Buffer, Request};
use super::line::{Line, print_missing};
use super::memory::node;
use super::timing::{self, Repeats, time, time_fastest};
use super::{memory_budget, words::Words};
use crate::Trouble;
use crate::missing::Reason;

mod cycle;

use cycle::{Cycle, ROUND, count, line_bytes, walk};

/// The fewest lines that make a cycle.
const FEWEST_LINES: usize = 4;

/// The limit of warm-up loads. Caches hold fewer lines than this; otherwise the footprint is so much larger than they
/// are that their content hardly matters.
const WARM_LOADS: u64 = 1 << 20;

/// Measures all cells, in order.
pub(super) fn run(cells: &[&str]) -> Result<(), Trouble> {
    let request = Request::from_environment()?;
    let line = line_bytes();
    let parsed: Vec<(usize, Repeats)> = cells
        .iter()
        .map(|cell| parse(cell, line))
        .collect::<Result<_, _>>()?;
    memory_budget::be_first_to_go();
    let clock = harness();
    let fitting = parsed
        .iter()
        .map(|&(bytes, _)| bytes)
        .filter(|&bytes| check_room(bytes, request).is_ok());
    let largest = fitting.max().unwrap_or(0);
    let mut course = None;
    for (name, &(bytes, repeats)) in cells.iter().zip(&parsed) {
        match measure(&mut course, (bytes, largest), line, (request, repeats)) {
            Ok(timed) => told(name, &timed, clock, &course, bytes).print(),
            Err(reason) => print_missing(name, &reason),
        }
    }
    Ok(())
}

fn parse(cell: &str, line: usize) -> Result<(usize, Repeats), Trouble> {
    let mut words = Words::of(cell);
    let bytes = words.number()?;
    let repeats = if cell.contains('/') {
        Repeats::five_of(Duration::from_millis(words.number()? as u64))
    } else {
        Repeats::MANY
    };
    words.finish()?;
    if bytes >= FEWEST_LINES * line && bytes.is_multiple_of(line) {
        return Ok((bytes, repeats));
    }
    Err(Trouble::Usage(format!(
        "`{cell}` is no cell of bench latency: at least {FEWEST_LINES} lines of {line} bytes, and \
         whole ones"
    )))
}

/// The overhead of every measurement. The clock is subtracted. The loop counter is not, because it runs in parallel
/// with the loads: subtracting it would make a load of four cycles 1.6 % too fast. Returns the seconds of one clock
/// reading.
fn harness() -> f64 {
    let clock = timing::clock_seconds();
    let empty = time(|rounds| {
        let began = Instant::now();
        count(rounds);
        began.elapsed()
    });
    let mut line = Line::of("harness")
        .metric("timer_seconds", clock)
        .metric("empty_seconds", empty.median());
    if let Some(node) = node() {
        line = line.metric("node_total", f64::from(node));
    }
    line.print();
    clock
}

/// The buffer of all cells, and the cycle in it.
struct Course {
    buffer: Buffer,
    cycle: Cycle,
}

/// Refuses a size that does not fit, before anything is mapped.
fn check_room(bytes: usize, request: Request) -> Result<(), Reason> {
    request.check_room(request.taken(bytes), "the lines of this cell")
}

/// The time of the repeats, for each [`ROUND`] loads.
fn measure(
    course: &mut Option<Course>,
    (bytes, largest): (usize, usize),
    line: usize,
    (request, repeats): (Request, Repeats),
) -> Result<timing::Timed, Reason> {
    let lines = bytes / line;
    let known = course.take().filter(|known| known.cycle.lines() <= lines);
    if known
        .as_ref()
        .is_none_or(|known| known.buffer.bytes() < bytes)
    {
        check_room(bytes, request)?;
    }
    let mut ready = match known {
        Some(known) if known.buffer.bytes() >= bytes => known,
        _ => Course::fresh(largest.max(bytes), line, request)?,
    };
    // SAFETY: the buffer is at least that long.
    unsafe { ready.cycle.grow(lines) };
    let timed = ready.time(lines as u64, repeats);
    *course = Some(ready);
    Ok(timed)
}

impl Course {
    fn fresh(bytes: usize, line: usize, request: Request) -> Result<Self, Reason> {
        let buffer = Buffer::fresh(bytes, request)?;
        // SAFETY: the buffer is longer than a line, writable, and only this cycle uses it.
        let cycle = unsafe { Cycle::of_one(buffer.start(), line) };
        Ok(Self { buffer, cycle })
    }

    /// Continues from where the last repeat ended, so that a cycle longer than a repeat is measured in several places.
    fn time(&self, lines: u64, repeats: Repeats) -> timing::Timed {
        let mut at = self.cycle.start();
        let mut go = |rounds: u64| {
            let began = Instant::now();
            // SAFETY: the walk began at a line of the cycle and never leaves it.
            at = unsafe { walk(at, rounds) };
            began.elapsed()
        };
        let _: Duration = go(lines.min(WARM_LOADS).div_ceil(ROUND));
        time_fastest(repeats, go)
    }
}

fn told<'a>(
    name: &'a str,
    timed: &timing::Timed,
    clock: f64,
    course: &Option<Course>,
    bytes: usize,
) -> Line<'a> {
    let line = Line::of(name)
        .metric(
            "latency_seconds",
            timed.fastest_without(clock) / ROUND as f64,
        )
        .metric("repeats_total", timed.repeats() as f64)
        .metric("spread_ratio", timed.spread());
    match course {
        Some(course) => line.pages("lines", course.buffer.pages(bytes)),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: (Request, Repeats) = (Request::Plain, Repeats::MANY);
    const SMALL: (Request, Repeats) = (Request::Small, Repeats::MANY);

    #[test]
    fn cells_are_whole_lines() {
        assert_eq!(parse("4096", 64).expect("a cell").0, 4096);
        assert_eq!(parse("4096/500", 64).expect("a cell").0, 4096);
        for cell in ["", "x", "0", "64", "4100", "4096/0", "4096/1/1", "4096/"] {
            assert!(parse(cell, 64).is_err(), "{cell}");
        }
    }

    #[test]
    fn what_lay_beneath_is_the_footprint() {
        let mut course = None;
        for bytes in [4096, 65_536, 16_384, 1 << 20] {
            let largest = 1 << 20;
            let timed = measure(&mut course, (bytes, largest), 64, SMALL);
            assert!(timed.expect("a measurement").median() > 0.0);
            let known = course.as_ref().expect("a course");
            assert_eq!(known.cycle.lines(), bytes / 64);
            if let Ok(pages) = known.buffer.pages(bytes) {
                assert_eq!((pages.total(), pages.absent), (bytes as u64, 0));
            }
        }
    }

    #[test]
    fn memory_takes_longer_than_the_first_cache() {
        let mut course = None;
        let mut seconds = |bytes: usize| {
            let timed = measure(&mut course, (bytes, 256 << 20), 64, PLAIN);
            timed.expect("a measurement").median()
        };
        let (near, far) = (seconds(4096), seconds(256 << 20));
        assert!(far > 5.0 * near, "{near} s and {far} s");
    }

    #[test]
    fn what_does_not_fit_is_refused_before_anything_is_mapped() {
        let measured = measure(&mut None, (1 << 40, 0), 64, PLAIN);
        assert!(matches!(measured, Err(Reason::NotSupported(_))));
    }
}
