//! The loops of `hugewise bench memory` against other programs that measure the same: in each
//! round every program once, in a shuffled order, and ratios by rounds.
//!
//! All get the same pages: the laboratory asks for none (`plain`), as the others do. All write
//! and copy the same: what of `perf` copies or writes zeros stands beside what of ours does so.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use hugewise_bench::memory::{CLEARING, OPERATIONS};

use super::Arguments;
use super::peers::{Measure, Unit, Values, bench, head, rounds, table};
use crate::program;

/// Rounds, unless the command line says otherwise.
const ROUNDS: u32 = 10;
/// The block of copies and fills.
const BLOCK: u64 = 1 << 30;
/// Loops of a call of `perf bench mem memcpy`, of which it tells the mean.
const COPIES: u32 = 3;
/// And of one of `memset`: so many that its first, which differs, weighs little.
const FILLS: u32 = 17;
/// `perf` calls 2^30 bytes a GB.
const GB_OF_PERF: f64 = 1_073_741_824.0;

/// Measures, and prints a table in Markdown.
pub fn run(arguments: &Arguments) -> Result<()> {
    let program = program::build()?;
    let lab = program.with_file_name("hugewise-lab");
    head();
    for (what, cells, perf) in comparisons()? {
        let programs: &mut [Measure<'_>] = &mut [&mut || of_lab(&lab, &cells), &mut || perf()];
        let told = rounds(arguments, ROUNDS, programs)?;
        table(what, &told, Unit::Rate)?;
    }
    Ok(())
}

/// What is compared: its name, our cells, and what `perf` does of the same.
type Comparison = (&'static str, Cells, fn() -> Result<Values>);

fn comparisons() -> Result<[Comparison; 3]> {
    let (clearing, filling) = kernels("fill")?
        .iter()
        .partition(|kernel| CLEARING.contains(kernel));
    let cells = |operation, kernels: Vec<&'static str>, source| Cells {
        operation,
        kernels,
        source,
    };
    let copies = cells("copy", kernels("copy")?.to_vec(), "zeroed");
    Ok([
        ("copy of 1 GiB of zeros", copies, || {
            of_perf("memcpy", COPIES)
        }),
        (
            "fill of 1 GiB",
            cells("fill", filling, "written"),
            perf_fills,
        ),
        (
            "fill of 1 GiB with zeros",
            cells("fill", clearing, "written"),
            || of_perf("memset", 1),
        ),
    ])
}

fn kernels(operation: &str) -> Result<&'static [&'static str]> {
    let known = OPERATIONS.iter().find(|known| known.name == operation);
    let known = known.context("no such operation")?;
    Ok(known.kernels(std::env::consts::ARCH))
}

/// What the laboratory measures in one round.
struct Cells {
    operation: &'static str,
    kernels: Vec<&'static str>,
    source: &'static str,
}

/// Bytes a second of every kernel that this processor has.
fn of_lab(lab: &Path, ours: &Cells) -> Result<Values> {
    let Cells {
        operation, source, ..
    } = ours;
    let cell = |kernel: &&str| format!("{operation}/{kernel}/{BLOCK}/{source}/1");
    let cells: Vec<String> = ours.kernels.iter().map(cell).collect();
    let lines = bench(lab, "memory", &cells.join(","))?;
    let mut values = Values::new();
    for (kernel, cell) in ours.kernels.iter().zip(&cells) {
        if let Some(rate) = lines
            .get(cell)
            .and_then(|it| it["rate_bytes_per_second"].as_f64())
        {
            values.insert(format!("hugewise `{kernel}`"), rate);
        }
    }
    Ok(values)
}

/// What `perf bench mem memset` takes for bytes that are not zero. Its first loop writes zeros,
/// the second ones, and so on (`do_memset`, tools/perf/bench/mem-functions.c), and it tells the
/// mean of all; a processor may write zeros much faster. So the first loop's time, as a call of
/// one loop has it, is taken off that of many.
fn perf_fills() -> Result<Values> {
    let (many, one) = (of_perf("memset", FILLS)?, of_perf("memset", 1)?);
    let others = f64::from(FILLS - 1);
    let rest = many.into_iter().filter_map(|(name, rate)| {
        let seconds = f64::from(FILLS) / rate - 1.0 / one.get(&name)?;
        Some((name, others / seconds))
    });
    Ok(rest.collect())
}

/// Bytes a second of every function that `perf bench mem` has. It counts a copied byte once, as
/// we do, and touches its memory before it measures; what it copies are zeros.
fn of_perf(what: &str, loops: u32) -> Result<Values> {
    let output = Command::new("perf")
        .args(["bench", "mem", what, "--size", "1GB", "--function", "all"])
        .args(["--nr_loops", &loops.to_string()])
        .output()
        .context("starting perf; on Debian: apt install linux-perf")?;
    ensure!(output.status.success(), "perf failed: {output:?}");
    let text = String::from_utf8(output.stdout)?;
    let mut values = Values::new();
    let mut function = None;
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("# function '") {
            function = rest.split('\'').next();
        } else if let (Some(name), Some(rate)) = (function, line.trim().strip_suffix(" GB/sec")) {
            values.insert(
                format!("perf `{name}`"),
                rate.trim().parse::<f64>()? * GB_OF_PERF,
            );
        }
    }
    ensure!(!values.is_empty(), "perf said {text:?}");
    Ok(values)
}
