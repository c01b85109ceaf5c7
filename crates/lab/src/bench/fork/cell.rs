//! A cell of the suite `fork`, `MOMENT/BYTES/WRITES`.

use super::super::backing::{Buffer, Request};
use super::super::fresh::{reason, warm};
use super::super::words::Words;
use super::super::{Line, Measured};
use super::{Moment, quantile, write_after};
use crate::Trouble;

const MOMENTS: [(&str, Moment); 2] = [("alone", Moment::Alone), ("forked", Moment::Forked)];

/// The same seed for the places in every cell and trial.
const SEED: u64 = 42;

/// Fills a buffer, forks or not, and writes.
pub(in crate::bench) fn measure(cell: &str, request: Request) -> Result<Measured<'_>, Trouble> {
    let mut words = Words::of(cell);
    let moment = words.name(&MOMENTS)?;
    let (bytes, writes) = (words.number()?, words.number()?);
    words.finish()?;
    match line(cell, moment, bytes, writes, request) {
        Ok(measured) => Ok(measured),
        Err(trouble) => reason(trouble).map(Err),
    }
}

fn line(
    cell: &str,
    moment: Moment,
    bytes: usize,
    writes: usize,
    request: Request,
) -> Result<Measured<'_>, Trouble> {
    // Each page may exist twice in the end.
    let most = request.taken(bytes).saturating_mul(2);
    let checked = request.check_room(most, "this buffer and its copy");
    let buffer = match checked.and_then(|()| Buffer::fresh(bytes, request)) {
        Ok(buffer) => buffer,
        Err(reason) => return Ok(Err(reason)),
    };
    let span = buffer.span();
    // Includes the copies, so that the host of a virtual machine has backed them.
    warm(2 * buffer.bytes(), request)?;
    span.write();
    let before = buffer.pages(buffer.bytes());
    let seen = write_after(moment, span, writes, SEED)?;
    let seconds = |share| quantile(&seen.writes, share).map_or(f64::NAN, |time| time.as_secs_f64());
    // The growth is counted in anonymous memory, and pool pages are not part of that.
    let added = match request {
        Request::Hugetlb(_) => None,
        _ => seen.added_bytes,
    };
    let count = |number: Option<u64>| number.map_or(f64::NAN, |number| number as f64);
    Ok(Ok(Line::of(cell)
        .metric(
            "fork_seconds",
            seen.fork.map_or(f64::NAN, |time| time.as_secs_f64()),
        )
        .metric("p50_seconds", seconds(0.5))
        .metric("p99_seconds", seconds(0.99))
        .metric("max_seconds", seconds(1.0))
        .metric("faults_total", seen.faults as f64)
        .metric("splits_total", count(seen.splits))
        .metric("added_bytes", count(added))
        .pages("before", before)
        .pages("after", buffer.pages(buffer.bytes()))))
}
