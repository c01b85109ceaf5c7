//! Measures the loops of `hugewise bench memory` against other programs for the same task: each program once per round,
//! in a shuffled order, and ratios by rounds.
//!
//! All get the same pages: the laboratory requests none (`plain`), like the others. All write and copy the same: loops
//! of `perf` that copy or write zeros are compared with ours that do so.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use hugewise_bench::memory::{CLEARING, OPERATIONS};

use super::Arguments;
use super::peers::{Measure, Unit, Values, bench, head, rounds, table};
use crate::program;

/// The default number of rounds.
const ROUNDS: u32 = 10;
/// The block of copies and fills, in bytes.
const BLOCK: u64 = 1 << 30;
/// Loops of one `perf bench mem memcpy` call, which reports their mean.
const COPIES: u32 = 3;
/// Loops of one `memset` call: enough to make the different first one negligible.
const FILLS: u32 = 17;
/// `perf` defines a GB as 2^30 bytes.
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

/// One comparison: its name, our cells, and the equivalent of `perf`.
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

/// The laboratory's measurements of one round.
struct Cells {
    operation: &'static str,
    kernels: Vec<&'static str>,
    source: &'static str,
}

/// Returns the bytes per second of every kernel supported by this processor.
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

/// Returns the speed of `perf bench mem memset` for non-zero bytes. Its first loop writes zeros, the second ones, and
/// so on (`do_memset`, tools/perf/bench/mem-functions.c), and it reports the mean of all. A processor can write zeros
/// much faster, so the time of one loop, from a separate call, is subtracted from that of many.
fn perf_fills() -> Result<Values> {
    let (many, one) = (of_perf("memset", FILLS)?, of_perf("memset", 1)?);
    let others = f64::from(FILLS - 1);
    let rest = many.into_iter().filter_map(|(name, rate)| {
        let seconds = f64::from(FILLS) / rate - 1.0 / one.get(&name)?;
        Some((name, others / seconds))
    });
    Ok(rest.collect())
}

/// Returns the bytes per second of every function of `perf bench mem`. It counts a copied byte once, like ours, and
/// touches its memory before it measures. It copies zeros.
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
