//! Cells of the suites `growth`, `MEANS/STEP/START/TOUCH/BYTES`, and `heap`, `PROGRAM/BYTES`.

use super::super::backing::Request;
use super::super::fresh::{reason, warm};
use super::super::pages::{Mapped, look};
use super::super::thread::Usage;
use super::super::words::Words;
use super::super::{Line, Measured, Reason, memory_budget};
use super::imitation::{self, Way};
use super::{Growth, GrowthCall, Start, Touch, grow};
use crate::Trouble;
use crate::region::{Advice, page_bytes};

const MEANS: [(&str, GrowthCall); 3] = [
    ("brk", GrowthCall::Brk),
    ("mmap", GrowthCall::Mmap),
    ("mprotect", GrowthCall::Mprotect),
];

const STARTS: [(&str, Start); 2] = [("aligned", Start::Aligned), ("between", Start::Between)];

const TOUCHES: [(&str, Touch); 2] = [("at-once", Touch::AtOnce), ("later", Touch::Later)];

const GIB: f64 = (1 << 30) as f64;

/// Grows one heap in steps.
pub(in crate::bench) fn stepped(cell: &str, request: Request) -> Result<Measured<'_>, Trouble> {
    let mut words = Words::of(cell);
    let growth = Growth {
        means: words.name(&MEANS)?,
        step: words.number()?,
        start: words.name(&STARTS)?,
        touch: words.name(&TOUCHES)?,
    };
    let bytes = words.number()?;
    words.finish()?;
    if !growth.step.is_multiple_of(page_bytes()) {
        let page = page_bytes();
        let what = format!("steps that do not divide into pages of {page} bytes");
        return Ok(Err(Reason::NotSupported(what)));
    }
    measured(cell, Way::Stepped(growth), bytes, request)
}

/// Grows one heap as a known program does.
pub(in crate::bench) fn imitation(cell: &str, request: Request) -> Result<Measured<'_>, Trouble> {
    let mut words = Words::of(cell);
    let way = imitation::find(&mut words)?;
    let bytes = words.number()?;
    words.finish()?;
    measured(cell, way, bytes, request)
}

fn measured(cell: &str, way: Way, bytes: usize, request: Request) -> Result<Measured<'_>, Trouble> {
    let advice = match request {
        Request::Plain => Advice::None,
        Request::Advised => Advice::Huge,
        Request::Small => Advice::Small,
        Request::Hugetlb(_) => {
            let what = "a heap that grows by pages of a hugetlb pool";
            return Ok(Err(Reason::NotSupported(what.to_owned())));
        }
    };
    if let Err(reason) = memory_budget::check(bytes as u64, "this heap") {
        return Ok(Err(reason));
    }
    match line(cell, way, bytes, (request, advice)) {
        Ok(line) => Ok(Ok(line)),
        Err(trouble) => reason(trouble).map(Err),
    }
}

fn line(
    cell: &str,
    way: Way,
    bytes: usize,
    (request, advice): (Request, Advice),
) -> Result<Line<'_>, Trouble> {
    warm(bytes, request)?;
    let before = Usage::now();
    let grown = grow(way, bytes, advice)?;
    let usage = Usage::now().since(before);
    let heap = grown.span;
    let size = heap.bytes() as f64;
    let pages = look(heap.pointer().cast(), heap.bytes(), Mapped::Anonymous);
    let huge = pages.as_ref().map_or(f64::NAN, |pages| pages.huge as f64);
    Ok(Line::of(cell)
        .metric(
            "time_per_gib_seconds",
            grown.time.as_secs_f64() * GIB / size,
        )
        .metric("huge_ratio", huge / size)
        .metric("faults_total", usage.faults as f64)
        .metric("system_seconds", usage.system.as_secs_f64())
        .pages("heap", pages))
}
