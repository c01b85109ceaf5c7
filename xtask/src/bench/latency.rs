//! Measures the loads of `hugewise bench latency` against those of multichase: both in each round, in a shuffled order,
//! and their ratio by rounds.
//!
//! Both use small pages, and report the best of five repeats of half a second. The best of shorter repeats is lower on
//! a machine with occasional disturbances.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use hugewise_base::units::bytes_text;

use super::Arguments;
use super::peers::{Measure, Unit, Values, bench, head, rounds, table};
use crate::program;

/// Bytes to walk over, and default rounds. Memory of a virtual machine is up to a tenth faster or slower from one round
/// to the next, so few rounds would not resolve three percent. Caches are steady.
const FOOTPRINTS: [(u64, u32); 4] = [
    (16 << 10, 10),
    (256 << 10, 10),
    (4 << 20, 10),
    (256 << 20, 60),
];
/// Milliseconds of a repeat.
const REPEAT: u64 = 500;

/// Measures, and prints a table in Markdown.
pub fn run(arguments: &Arguments) -> Result<()> {
    let multichase = arguments
        .multichase
        .as_deref()
        .context("what to compare with: --multichase PATH names the program")?;
    let lab = program::build()?.with_file_name("hugewise-lab");
    head();
    for (bytes, count) in FOOTPRINTS {
        let programs: &mut [Measure<'_>] =
            &mut [&mut || ours(&lab, bytes), &mut || theirs(multichase, bytes)];
        let told = rounds(arguments, count, programs)?;
        let what = format!("load over {}", bytes_text(bytes));
        table(&what, &told, Unit::Latency)?;
    }
    Ok(())
}

fn ours(lab: &Path, bytes: u64) -> Result<Values> {
    let cell = format!("{bytes}/{REPEAT}");
    let lines = bench(lab, "latency", &cell)?;
    let seconds = lines
        .get(&cell)
        .and_then(|it| it["latency_seconds"].as_f64());
    Ok([("hugewise".to_owned(), seconds.context("no latency")?)].into())
}

/// Walks all lines of the footprint in an order that avoids no translation, like ours.
fn theirs(program: &Path, bytes: u64) -> Result<Values> {
    let size = bytes.to_string();
    let output = Command::new(program)
        .args(["-s", "64", "-n", "5", "-m", &size, "-T", &size])
        .output()
        .with_context(|| format!("starting {}", program.display()))?;
    ensure!(output.status.success(), "multichase failed: {output:?}");
    let text = String::from_utf8(output.stdout)?;
    let nanoseconds: f64 = text
        .trim()
        .parse()
        .with_context(|| format!("multichase said {text:?}"))?;
    Ok([("multichase".to_owned(), nanoseconds * 1e-9)].into())
}
