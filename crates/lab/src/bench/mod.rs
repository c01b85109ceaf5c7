//! `bench SUITE --cells CELL[,CELL…]`: measures cells, one after the other, and prints one line
//! of JSON for each (the parser is `hugewise_model::bench::line`).
//!
//! Which cells there are, which are worth their time and what is made of them is decided by
//! `hugewise bench`. Here they are measured: memory is laid out by the page policy that holds
//! for this process (see [`backing`]), and what it became is looked up in the kernel afterwards.

use std::process::ExitCode;

mod backing;
mod fork;
mod growth;
mod line;
mod pages;
mod prefault;
mod random;
mod slab;
mod thread;
mod words;

use crate::Trouble;
use crate::arguments::Arguments;

use backing::Request;
pub(crate) use line::{Line, Reason};

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
    let request = Request::from_environment()?;
    let measure = match suite.as_str() {
        "prefault" => prefault::measure,
        other => return Err(Trouble::Usage(format!("no bench `{other}`"))),
    };
    for cell in cells {
        match measure(cell, request)? {
            Ok(line) => line.print(),
            Err(reason) => line::print_missing(cell, &reason),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What came of a cell: its line, or why there is none.
pub(crate) type Measured<'a> = Result<Line<'a>, Reason>;
