//! Faults at a pace set by work between them, and their total time.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::planted::processor_ns;
use crate::region::{Advice, Align, Region, faults, page_bytes};

/// `pace`: writes one byte to each of N small pages, frees all of them, and repeats this R times, with `--work` steps
/// of computation after each page. Writes `faults F wall_ns W processor_ns P` for the whole run into the file `--out`.
///
/// The work is a fixed amount and not a fixed time, so that any disturbance makes the run longer. The time covers only
/// the workload, not its start and its end.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let pages = arguments.needed("--pages")?;
    let repeat = arguments.number("--repeat")?.unwrap_or(1);
    let work = arguments.number("--work")?.unwrap_or(0);
    let out = arguments.word("--out")?;
    arguments.finish()?;
    let out = out.ok_or_else(|| Trouble::Usage("--out is missing".to_owned()))?;

    let region = Region::fresh(pages, Align::Huge, Advice::Small)?;
    // An uncounted first pass, which loads the code, that of the clocks too, and the region's page tables.
    touch(&region, work)?;
    let _ = (faults(), processor_ns(), Instant::now().elapsed());
    let before = faults();
    let processor_before = processor_ns();
    let began = Instant::now();
    for _ in 0..repeat {
        touch(&region, work)?;
    }
    let wall_ns = began.elapsed().as_nanos();
    let processor_ns = processor_ns() - processor_before;
    let taken = faults() - before;
    let line = format!("faults {taken} wall_ns {wall_ns} processor_ns {processor_ns}\n");
    std::fs::write(&out, line)
        .map_err(|error| Trouble::Kernel("writing the file of --out", error))?;
    Ok(ExitCode::SUCCESS)
}

fn touch(region: &Region, work: usize) -> Result<(), Trouble> {
    if work == 0 {
        region.write(page_bytes());
    } else {
        region.write_with(page_bytes(), || steps(work));
    }
    region.discard()
}

/// This many dependent multiplications: a few processor cycles each, without memory accesses.
pub(crate) fn steps(count: usize) {
    let mut value = 1_u64;
    for _ in 0..count {
        value = black_box(value.wrapping_mul(6_364_136_223_846_793_005));
    }
}
