//! `bench SUITE --cells CELL[,CELL…]`: measures cells, one after the other, and prints one line of JSON for each (the
//! parser is `hugewise_bench::line`).
//!
//! `hugewise bench` defines the cells, selects the useful ones and evaluates them. This program only measures. Memory
//! is laid out by the page policy of this process (see [`backing`]), and its actual pages are read from the kernel
//! afterwards.

use std::process::ExitCode;

mod backing;
mod fork;
mod fragment;
mod fresh;
mod growth;
mod kernels;
mod latency;
mod line;
mod memory;
mod pages;
mod prefault;
pub(crate) mod random;
mod rollup;
mod slab;
mod thread;
mod threads;
mod timing;
mod words;

use crate::Trouble;
use crate::arguments::Arguments;

use crate::memory_budget;
use crate::missing::Reason;
use backing::Request;
use line::Line;

/// Runs the suite that the next word names.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let suite = arguments.next_word().unwrap_or_default();
    let cells = arguments.word("--cells")?.unwrap_or_default();
    let cells: Vec<&str> = cells.split(',').filter(|cell| !cell.is_empty()).collect();
    if cells.is_empty() {
        return Err(Trouble::Usage(
            "bench needs --cells CELL[,CELL…]".to_owned(),
        ));
    }
    arguments.finish()?;
    match suite.as_str() {
        "memory" => memory::run(&cells)?,
        "latency" => latency::run(&cells)?,
        "prefault" => each(&cells, prefault::measure)?,
        "growth" | "heap" | "fork" | "slab" | "fragment" => return fresh::run(&suite, &cells),
        other => match other.strip_prefix(fresh::PREFIX) {
            Some("growth") => each(&cells, growth::cell::stepped)?,
            Some("heap") => each(&cells, growth::cell::imitation)?,
            Some("fork") => each(&cells, fork::cell::measure)?,
            Some("slab") => each(&cells, slab::cell::measure)?,
            Some("fragment") => each(&cells, fragment::measure)?,
            _ => return Err(Trouble::Usage(format!("no bench `{other}`"))),
        },
    }
    Ok(ExitCode::SUCCESS)
}

/// The result of a cell: its line, or why there is none.
type Measured<'a> = Result<Line<'a>, Reason>;

/// Measures cells that are independent of each other.
fn each<'a>(
    cells: &[&'a str],
    measure: fn(&'a str, Request) -> Result<Measured<'a>, Trouble>,
) -> Result<(), Trouble> {
    let request = Request::from_environment()?;
    for cell in cells {
        match measure(cell, request)? {
            Ok(line) => line.print(),
            Err(reason) => line::print_missing(cell, &reason),
        }
    }
    Ok(())
}

/// The words of a cell, if it has this number of words.
fn words<const N: usize>(cell: &str) -> Option<[&str; N]> {
    let words: Vec<&str> = cell.split('/').collect();
    words.try_into().ok()
}
