//! Measures the cost of `hugewise inspect` against other readers of the same process: paired ratios of CPU time in one
//! run.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, ensure};
use hugewise_experiment::run::stats::median;

use super::Arguments;
use super::rounds::{in_rounds, interval, ratio};
use crate::program;

/// The memory that must remain free while memory is touched, in bytes.
pub const RESERVE: u64 = 4 << 30;
/// The large process.
const LARGE: u64 = 20 << 30;
/// The process of many mappings; vm.max_map_count is 65,530 by default.
const MAPPINGS: u32 = 60_000;

/// Measures on two processes and prints a table in Markdown.
pub fn run(arguments: &Arguments) -> Result<()> {
    let program = program::build()?;
    let lab = program.with_file_name("hugewise-lab");
    println!(
        "| process | command | processor | wall | peak memory | ÷ reads | 95 % interval | n |"
    );
    println!("|---|---|--:|--:|--:|--:|---|--:|");
    let touched = free_bytes()?.saturating_sub(RESERVE).min(LARGE);
    let page = page_bytes()?;
    let large = [
        ("--count", 0),
        ("--pages", LARGE / page),
        ("--touch", touched / page),
    ];
    let name = format!("20 GiB mapped, {:.1} GiB used", gib(touched));
    table(arguments, &program, &name, &Subject::start(&lab, &large)?)?;
    let many = [("--count", u64::from(MAPPINGS))];
    table(
        arguments,
        &program,
        "60,000 mappings",
        &Subject::start(&lab, &many)?,
    )
}

/// A process to be read, until it is dropped.
pub struct Subject {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Subject {
    pub fn start(lab: &Path, options: &[(&str, u64)]) -> Result<Self> {
        let mut command = Command::new(lab);
        command.arg("mappings");
        for (name, value) in options {
            command.arg(name).arg(value.to_string());
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the laboratory")?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("no stdout")?;
        let subject = Self { child, stdin };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        ensure!(
            line.starts_with("mappings "),
            "the laboratory said {line:?}"
        );
        Ok(subject)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// The cost of one command.
struct Cost {
    processor: f64,
    wall: f64,
    peak: f64,
}

fn table(arguments: &Arguments, program: &Path, name: &str, subject: &Subject) -> Result<()> {
    let commands = commands(arguments, program, subject.pid());
    let costs = in_rounds(arguments, super::PAIRS, commands.len(), |place| {
        measure(program, &commands[place].1)
    })?;
    for (place, (label, _)) in commands.iter().enumerate() {
        println!("| {name} | {label} |{}", row(&costs[place], &costs[0])?);
    }
    Ok(())
}

/// Returns the commands; the first is the baseline of the others.
fn commands(arguments: &Arguments, program: &Path, pid: u32) -> Vec<(String, Vec<OsString>)> {
    let lab = program.with_file_name("hugewise-lab");
    let pid = pid.to_string();
    let smaps = format!("/proc/{pid}/smaps");
    let line = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let of = |program: &Path, words: &[&str]| {
        let mut all = vec![program.as_os_str().to_owned()];
        all.extend(line(words));
        all
    };
    let mut commands = vec![
        (
            "the same reads alone".to_owned(),
            of(&lab, &["reads", "--pid", &pid]),
        ),
        ("`inspect`".to_owned(), of(program, &["inspect", &pid])),
        (
            "`inspect --verbose`".to_owned(),
            of(program, &["inspect", "--verbose", &pid]),
        ),
        (
            "`inspect --format json`".to_owned(),
            of(program, &["inspect", "--format", "json", &pid]),
        ),
        ("`cat smaps`".to_owned(), line(&["cat", &smaps])),
    ];
    if let Some(path) = &arguments.thpmaps {
        commands.push(("`thpmaps`".to_owned(), of(path, &["--pid", &pid])));
    }
    commands
}

/// Measures like a trial of the program.
fn measure(program: &Path, command: &[OsString]) -> Result<Cost> {
    let flags = ["--policy", "as-is", "--max-rounds", "1", "--warmup", "0"];
    let record = program::record(program, &flags, command)?;
    let trial = record.trials.first().context("no trial")?;
    let reading = |name: &str| trial.value(name).with_context(|| format!("no {name}"));
    Ok(Cost {
        processor: reading("user_seconds")? + reading("system_seconds")?,
        wall: reading("wall_seconds")?,
        peak: reading("peak_rss_bytes")?,
    })
}

fn row(costs: &[Cost], reads: &[Cost]) -> Result<String> {
    let middle = |of: fn(&Cost) -> f64| {
        let values: Vec<f64> = costs.iter().map(of).collect();
        median(&values).context("nothing was measured")
    };
    let of = |costs: &[Cost]| costs.iter().map(|cost| cost.processor).collect::<Vec<_>>();
    let shift = ratio(of(costs), of(reads)).context("too few pairs")?;
    let interval = interval(&shift, 2).unwrap_or_else(|| "too few pairs".to_owned());
    Ok(format!(
        " {:.3} s | {:.3} s | {:.1} MiB | {:.2} | {interval} | {} |",
        middle(|cost| cost.processor)?,
        middle(|cost| cost.wall)?,
        middle(|cost| cost.peak)? / f64::from(1 << 20),
        shift.estimate,
        shift.n,
    ))
}

/// `MemAvailable`.
pub fn free_bytes() -> Result<u64> {
    let text = fs::read_to_string("/proc/meminfo").context("reading /proc/meminfo")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kib.context("no MemAvailable")? * 1024)
}

fn page_bytes() -> Result<u64> {
    let output = Command::new("getconf").arg("PAGESIZE").output()?;
    let text = String::from_utf8(output.stdout).context("getconf PAGESIZE")?;
    text.trim().parse().context("getconf PAGESIZE")
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}
