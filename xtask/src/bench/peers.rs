//! Runs programs that measure the same quantity in the same rounds, next to the laboratory.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use hugewise_experiment::run::stats::median;
use serde_json::Value;

use super::Arguments;
use super::rounds::{in_rounds, interval, ratio};

/// Values of one round, by program; the names of other programs do not begin with `hugewise`.
pub type Values = BTreeMap<String, f64>;
/// Runs one program, which can report several of its functions.
pub type Measure<'a> = &'a mut dyn FnMut() -> Result<Values>;

/// Returns the results of all programs in each round.
pub fn rounds(
    arguments: &Arguments,
    usual: u32,
    programs: &mut [Measure<'_>],
) -> Result<Vec<Values>> {
    let count = programs.len();
    let took = in_rounds(arguments, usual, count, |place| programs[place]())?;
    let mut told: Vec<Values> = Vec::new();
    for values in took {
        told.resize_with(values.len(), Values::new);
        for (round, values) in told.iter_mut().zip(values) {
            round.extend(values);
        }
    }
    Ok(told)
}

/// Returns the metrics of each cell.
pub fn bench(lab: &Path, suite: &str, cells: &str) -> Result<BTreeMap<String, Value>> {
    let output = Command::new(lab)
        .args(["bench", suite, "--cells", cells])
        .env("HUGEWISE_LAB_PAGES", "plain")
        .output()
        .context("starting the laboratory")?;
    ensure!(output.status.success(), "the laboratory failed: {output:?}");
    let text = String::from_utf8(output.stdout)?;
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line)?;
        let cell = line["cell"].as_str().context("a line without a cell")?;
        Ok((cell.to_owned(), line["metrics"].take()))
    });
    lines.collect()
}

/// Prints the head of the table.
pub fn head() {
    println!("| what | program | median | ÷ best other | 95 % interval | rounds |");
    println!("|---|---|--:|--:|---|--:|");
}

/// The compared quantity, and its better direction.
#[derive(Clone, Copy, PartialEq)]
pub enum Unit {
    /// Bytes a second: more.
    Rate,
    /// Seconds: less.
    Latency,
}

/// Compares every program with the best of the others, by medians.
pub fn table(what: &str, rounds: &[Values], unit: Unit) -> Result<()> {
    let first = rounds.first().context("no round")?;
    let of = |name: &str| -> Vec<f64> {
        let values = rounds.iter().filter_map(|round| round.get(name));
        values.copied().collect()
    };
    let score = |name: &str| {
        let middle = median(&of(name)).unwrap_or(0.0);
        if unit == Unit::Rate { middle } else { -middle }
    };
    let others = first.keys().filter(|name| !name.starts_with("hugewise"));
    let best = others
        .max_by(|a, b| score(a).total_cmp(&score(b)))
        .context("no other program")?;
    let mut names: Vec<&String> = first.keys().collect();
    names.sort_by(|a, b| score(b).total_cmp(&score(a)));
    for name in names {
        println!("| {what} | {name} |{}", row(&of(name), &of(best), unit)?);
    }
    Ok(())
}

fn row(values: &[f64], best: &[f64], unit: Unit) -> Result<String> {
    let shift = ratio(values.iter().copied(), best.iter().copied()).context("too few rounds")?;
    let interval = interval(&shift, 3).unwrap_or_else(|| "too few rounds".to_owned());
    let middle = median(values).context("nothing was measured")?;
    let middle = match unit {
        Unit::Rate => format!("{:.2} GB/s", middle / 1e9),
        Unit::Latency => format!("{:.2} ns", middle * 1e9),
    };
    Ok(format!(
        " {middle} | {:.3} | {interval} | {} |",
        shift.estimate, shift.n
    ))
}
