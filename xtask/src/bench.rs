//! Measures the overhead of hugewise for the workload, and the cost of `inspect`, `faults` and `trace`: paired ratios
//! in one run, never a timed test.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use hugewise_experiment::run::stats::median;

use crate::program;
use rounds::{interval, ratio};

mod attribute;
mod exec;
mod faults;
mod inspect;
mod latency;
mod limits;
mod load;
mod memory;
mod peers;
mod rounds;
mod stat;
mod trace;
mod watched;
mod watcher;

/// The default number of pairs.
const PAIRS: u32 = 30;

/// Arguments of `bench`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// What is measured
    #[arg(value_enum, default_value_t = What::Run)]
    what: What,
    /// Pairs of a bare and a measured run [default: 30; for `faults`, `memory` and `trace`: 10; for `limits`: 3; for
    /// `latency`: 10 and 60; for `exec`: 100]
    #[arg(long)]
    pairs: Option<u32>,
    /// Seed of the order within pairs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For `inspect`: the script tools/mm/thpmaps of the kernel's sources, to compare with
    #[arg(long, value_name = "PATH")]
    thpmaps: Option<PathBuf>,
    /// For `latency`: the program of that name, built from github.com/google/multichase
    #[arg(long, value_name = "PATH")]
    multichase: Option<PathBuf>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// A workload under `run` against the same workload bare
    Run,
    /// `inspect` against the kernel's own cost of its reads, and against others that read them
    Inspect,
    /// `faults` against others that watch page faults one by one
    Faults,
    /// The loops of `bench memory` against `perf bench mem`
    Memory,
    /// The loads of `bench latency` against those of multichase
    Latency,
    /// `trace` of the whole machine against others, at page faults and at a cgroup's limit
    Trace,
    /// `stat` against `perf stat` on the same events, and against the bare workload
    Stat,
    /// A start under each mechanism that makes calls in a program, against a bare start
    Exec,
    /// The part of the gain that `exec` keeps with the two best sites of `attribute`
    Attribute,
    /// The growth of each verb's time with its input, and where it stops being linear
    Limits,
}

/// Measures, and prints a table in Markdown.
pub fn run(arguments: &Arguments) -> Result<()> {
    match arguments.what {
        What::Run => workloads(arguments),
        What::Inspect => inspect::run(arguments),
        What::Faults => faults::run(arguments),
        What::Memory => memory::run(arguments),
        What::Latency => latency::run(arguments),
        What::Trace => trace::run(arguments),
        What::Stat => stat::run(arguments),
        What::Exec => exec::run(arguments),
        What::Attribute => attribute::run(arguments),
        What::Limits => limits::run(arguments),
    }
}

/// Two kinds of workload.
fn workloads(arguments: &Arguments) -> Result<()> {
    let program = program::build()?;
    println!("| workload | bare | measured | measured ÷ bare | 95 % interval | pairs |");
    println!("|---|--:|--:|--:|---|--:|");
    let lab = program.with_file_name("hugewise-lab").into_os_string();
    let touch = ["touch", "--pages", "16384", "--repeat", "16"].map(OsString::from);
    let touch: Vec<OsString> = std::iter::once(lab).chain(touch).collect();
    for (name, command) in [
        ("`sort -n` of a million lines", program::sort()?),
        ("touching 64 MiB of small pages 16 times", touch),
    ] {
        println!("{}", row(arguments, &program, name, &command)?);
    }
    Ok(())
}

fn row(arguments: &Arguments, program: &Path, name: &str, command: &[OsString]) -> Result<String> {
    let mut random = fastrand::Rng::with_seed(arguments.seed);
    let (mut bare, mut measured) = (Vec::new(), Vec::new());
    for pair in 0..=arguments.pairs.unwrap_or(PAIRS) {
        let bare_run = || {
            // A machine that returns freed memory to its host makes a program pay for the time since the last one
            // ended. So both must start after the same activity.
            run_measured(program, &["true".into()])?;
            run_bare(command)
        };
        let times = if random.bool() {
            let first = bare_run()?;
            (first, run_measured(program, command)?)
        } else {
            let first = run_measured(program, command)?;
            (bare_run()?, first)
        };
        // The first pair warms the page cache and the host's memory.
        if pair > 0 {
            bare.push(times.0);
            measured.push(times.1);
        }
    }
    let shift = ratio(measured.iter().copied(), bare.iter().copied()).context("too few pairs")?;
    let mut row = String::new();
    write!(
        row,
        "| {name} | {:.4} s | {:.4} s | {:.4} | {} | {} |",
        median(&bare).context("no bare run")?,
        median(&measured).context("no measured run")?,
        shift.estimate,
        interval(&shift, 4).unwrap_or_else(|| "too few pairs".to_owned()),
        shift.n,
    )?;
    Ok(row)
}

/// Runs it like a shell: fork, exec, wait.
fn run_bare(command: &[OsString]) -> Result<f64> {
    let (program, arguments) = command.split_first().context("no command")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status()?;
    let seconds = began.elapsed().as_secs_f64();
    ensure!(status.success(), "the workload failed");
    Ok(seconds)
}

/// Returns the wall time reported by the program for one trial with all defaults.
fn run_measured(program: &Path, command: &[OsString]) -> Result<f64> {
    let flags = ["--policy", "as-is", "--max-rounds", "1", "--warmup", "0"];
    let record = program::record(program, &flags, command)?;
    let trial = record.trials.first().context("no trial")?;
    trial.value("wall_seconds").context("no wall time")
}
