//! Measures the start time under each mechanism by which `exec` reaches a program, paired within rounds.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use hugewise_experiment::run::stats::{ALPHA, Shift, median, paired};

use super::Arguments;
use super::rounds::{in_rounds, interval};
use super::watcher::succeed;
use crate::program;

/// The default number of rounds without `--pairs`: a start takes milliseconds.
const ROUNDS: u32 = 100;

/// The first is plain `exec`, the baseline of the others.
const POLICIES: [&str; 8] = [
    "as-is",
    "tracer=idle",
    "thp=always,means=tracer",
    "sites=mapping:none",
    "preload=idle",
    "thp=always,means=preload",
    "collapse=every:100ms",
    "text=huge",
];

/// Measures, and prints a table in Markdown.
pub fn run(arguments: &Arguments) -> Result<()> {
    let program = program::build()?;
    let lab = program.with_file_name("hugewise-lab").display().to_string();
    println!("| command | under | start to end | more than `exec` alone | 95 % interval | n |");
    println!("|---|---|--:|--:|---|--:|");
    for (name, words) in [
        ("`true`", vec!["/bin/true"]),
        (
            "1,000 mappings of 4 MiB",
            vec![&lab, "map", "--count", "1000"],
        ),
    ] {
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        rows(arguments, &program, name, &words)?;
    }
    Ok(())
}

fn rows(arguments: &Arguments, program: &Path, name: &str, words: &[String]) -> Result<()> {
    let commands: Vec<Vec<String>> = POLICIES
        .iter()
        .map(|policy| under(program, policy, words))
        .chain([words.to_vec()])
        .collect();
    let took = in_rounds(arguments, ROUNDS, commands.len(), |place| {
        let began = Instant::now();
        succeed(&commands[place])?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    })?;
    let [alone, others @ .., bare] = &took[..] else {
        return Ok(());
    };
    println!("| {name} | nothing | {} | | | |", typical(bare)?);
    println!("| {name} | `exec` alone | {} | | | |", typical(alone)?);
    for (policy, took) in POLICIES[1..].iter().zip(others) {
        let more = more(took, alone)?;
        println!(
            "| {name} | `{policy}` | {} | {:+.2} ms | {} | {} |",
            typical(took)?,
            more.estimate,
            interval(&more, 2).unwrap_or_else(|| "too few rounds".to_owned()),
            more.n,
        );
    }
    Ok(())
}

fn under(program: &Path, policy: &str, words: &[String]) -> Vec<String> {
    let program = program.display().to_string();
    let own = [program.as_str(), "exec", "--policy", policy, "--"];
    let own = own.into_iter().map(str::to_owned);
    own.chain(words.iter().cloned()).collect()
}

/// The median, in milliseconds.
fn typical(took: &[f64]) -> Result<String> {
    Ok(format!("{:.2} ms", median(took).context("too few rounds")?))
}

fn more(took: &[f64], alone: &[f64]) -> Result<Shift> {
    let pairs = took.iter().zip(alone);
    let differences: Vec<f64> = pairs.map(|(one, other)| one - other).collect();
    paired(&differences, ALPHA).context("too few rounds")
}
