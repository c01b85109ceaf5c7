//! A cell of the suite `fragment`, `PERCENT/BYTES`: brings free memory to that share in small blocks, and writes fresh
//! memory in that state. 0 percent leaves the state unchanged.

use std::time::{Duration, Instant};

use super::backing::{Buffer, Request};
use super::fresh::reason;
use super::thread::Usage;
use super::words::Words;
use super::{Line, Measured, Reason, memory_budget};
use crate::Trouble;
use crate::fragmented::{Holder, TOLERANCE, share_now};
use crate::plant::look::counter;
use crate::plant::span::Span;

const GIB: f64 = (1 << 30) as f64;

/// Establishes the state, writes, and releases the memory.
pub(super) fn measure(cell: &str, request: Request) -> Result<Measured<'_>, Trouble> {
    let mut words = Words::of(cell);
    let percent = words.share()?;
    let bytes = words.number()?;
    words.finish()?;
    memory_budget::be_first_to_go();
    if let Err(reason) = request.check_room(request.taken(bytes), "this buffer") {
        return Ok(Err(reason));
    }
    match in_state(cell, percent, bytes, request) {
        Ok(measured) => Ok(measured),
        Err(trouble) => reason(trouble).map(Err),
    }
}

fn in_state(
    cell: &str,
    percent: usize,
    bytes: usize,
    request: Request,
) -> Result<Measured<'_>, Trouble> {
    let begun = Instant::now();
    let holder = (percent > 0).then(|| Holder::reach(percent)).transpose()?;
    let reaching = begun.elapsed();
    let share = share_now()?;
    if share < percent as f64 / 100.0 - TOLERANCE {
        return Ok(Err(Reason::Unreadable(format!(
            "free memory came to {:.0} % in small blocks and no further: other programs changed it \
             meanwhile",
            share * 100.0
        ))));
    }
    let buffer = match Buffer::fresh(bytes, request) {
        Ok(buffer) => buffer,
        Err(reason) => return Ok(Err(reason)),
    };
    let written = write(buffer.span());
    // The allocated memory: if a page is larger than the requested size, the whole page.
    let bytes = buffer.bytes();
    let pages = buffer.pages(bytes);
    let huge = pages.as_ref().map_or(f64::NAN, |pages| pages.huge as f64);
    let kept = holder.as_ref().map_or(0, Holder::kept_bytes);
    drop((buffer, holder));
    Ok(Ok(written
        .tell(Line::of(cell), bytes)
        .metric("huge_ratio", huge / bytes as f64)
        .metric("fragmented_ratio", share)
        .metric("reaching_seconds", reaching.as_secs_f64())
        .metric("kept_bytes", kept as f64)
        .metric("later_fragmented_ratio", share_now()?)
        .pages("buffer", pages)))
}

/// The cost of writing.
struct Written {
    time: Duration,
    usage: Usage,
    stalls: Option<u64>,
}

fn write(span: Span) -> Written {
    let (stalls, before) = (counter("compact_stall"), Usage::now());
    let begun = Instant::now();
    span.write();
    let time = begun.elapsed();
    let after = counter("compact_stall");
    Written {
        time,
        usage: Usage::now().since(before),
        stalls: stalls
            .zip(after)
            .map(|(before, after)| after.saturating_sub(before)),
    }
}

impl Written {
    fn tell<'a>(&self, line: Line<'a>, bytes: usize) -> Line<'a> {
        let stalls = self.stalls.map_or(f64::NAN, |stalls| stalls as f64);
        let per_gib = self.time.as_secs_f64() * GIB / bytes as f64;
        line.metric("time_per_gib_seconds", per_gib)
            .metric("faults_total", self.usage.faults as f64)
            .metric("system_seconds", self.usage.system.as_secs_f64())
            .metric("stalls_total", stalls)
    }
}
