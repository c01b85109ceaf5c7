//! `mappings`: an address space that is expensive to read.

use std::process::ExitCode;
use std::thread;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::region::{Advice, Align, Region, page_bytes};

/// Pages of one small mapping.
const PAGES: usize = 2;
/// Bytes of the stack of an idle thread.
const STACK: usize = 64 << 10;

/// N mappings of two pages in a row, every other one writable and with one page used; one mapping of `--pages P` small
/// pages with the first `--touch T` used; and `--threads N` sleeping threads. Prints `mappings PID` and holds them
/// until its stdin closes.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let count = arguments.needed("--count")?;
    let pages = arguments.number("--pages")?.unwrap_or(0);
    let touch = arguments.number("--touch")?.unwrap_or(0);
    let threads = arguments.number("--threads")?.unwrap_or(0);
    arguments.finish()?;
    if touch > pages {
        let problem = format!("--touch {touch} is more than --pages {pages}");
        return Err(Trouble::Usage(problem));
    }
    let bytes = PAGES * page_bytes();
    let too_many = || Trouble::Usage(format!("{count} mappings are more than fit"));
    let small = Region::reserved(count.checked_mul(bytes).ok_or_else(too_many)?)?;
    for index in (0..count).step_by(2) {
        small.open(index * bytes, bytes)?;
        small.write_part(index * bytes, page_bytes());
    }
    let large = Region::fresh(pages, Align::Huge, Advice::Small)?;
    large.write_part(0, touch * page_bytes());
    for _ in 0..threads {
        let sleeper = thread::Builder::new().stack_size(STACK);
        let started = sleeper.spawn(|| {
            loop {
                thread::park();
            }
        });
        started.map_err(|error| Trouble::Kernel("starting a thread", error))?;
    }
    println!("mappings {}", std::process::id());
    // A read error counts as the end of the input.
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    Ok(ExitCode::SUCCESS)
}
