//! A start that fills its memory, as servers do: one reserved mapping, written from its beginning to its end.

use std::io::{BufRead, Read, stdin};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::region::{Advice, Align, Region, huge_bytes, page_bytes};
use crate::{Trouble, tell};

/// `fill --mib N [--huge] [--pause MS] [--stop-at MIB]`: maps N MiB, waits for a line on stdin, and writes to each page, a
/// huge page at a time, with a pause of MS ms after each; stops at MIB. Prints `fill PID` before, `filled M MiB in MS ms` after, and holds the
/// memory until stdin closes.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let mib = arguments.needed("--mib")?;
    let pause = arguments.number("--pause")?.map(|ms| ms as u64);
    let stop = arguments.number("--stop-at")?.unwrap_or(mib).min(mib);
    let advice = match arguments.switch("--huge") {
        true => Advice::Huge,
        false => Advice::None,
    };
    arguments.finish()?;
    let (whole, end) = (bytes_of(mib)?, bytes_of(stop)?);
    let region = Region::fresh(whole / page_bytes(), Align::Huge, advice)?;
    tell(format_args!("fill {}", std::process::id()));
    stdin()
        .lock()
        .read_line(&mut String::new())
        .map_err(|error| Trouble::Kernel("reading stdin", error))?;
    let began = Instant::now();
    for offset in (0..end).step_by(huge_bytes()) {
        region.write_part(offset, huge_bytes().min(end - offset));
        if let Some(ms) = pause {
            std::thread::sleep(Duration::from_millis(ms));
        }
    }
    tell(format_args!(
        "filled {stop} MiB in {} ms",
        began.elapsed().as_millis()
    ));
    // A read error counts as the end of the input.
    let _ = stdin().lock().read_to_end(&mut Vec::new());
    Ok(ExitCode::SUCCESS)
}

fn bytes_of(mib: usize) -> Result<usize, Trouble> {
    let bytes = mib.checked_mul(1 << 20);
    bytes.ok_or_else(|| Trouble::Usage(format!("{mib} MiB is more than fits")))
}
