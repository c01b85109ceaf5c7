//! Measures the cost of `hugewise stat`, against `perf stat` on the same events and against the bare workload: paired
//! ratios of wall time in one run.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use hugewise_experiment::run::stats::median;
use serde_json::Value;

use super::rounds::{in_rounds, interval, ratio};
use super::{Arguments, run_bare};
use crate::program;

/// The indices of the baselines among the commands of a table.
const BARE: usize = 0;
const PERF: usize = 1;

/// Measures two workloads and prints a table in Markdown.
pub fn run(arguments: &Arguments) -> Result<()> {
    let program = program::build()?;
    let events = events(&program)?;
    let perf = Command::new("perf").arg("--version").output();
    ensure!(
        perf.is_ok_and(|output| output.status.success()),
        "perf is not here; on Debian: apt install linux-perf"
    );
    println!("Events: {}.\n", events.told());
    println!(
        "| workload | command | wall | ÷ bare | 95 % interval | ÷ `perf` | 95 % interval | n |"
    );
    println!("|---|---|--:|--:|---|--:|---|--:|");
    let lab = program.with_file_name("hugewise-lab").into_os_string();
    let touch = ["touch", "--pages", "16384", "--repeat", "16"].map(OsString::from);
    let touch: Vec<OsString> = std::iter::once(lab).chain(touch).collect();
    for (name, workload) in [
        ("`sort -n` of a million lines", program::sort()?),
        ("touching 64 MiB of small pages 16 times", touch),
    ] {
        table(arguments, &program, &events, name, &workload)?;
    }
    Ok(())
}

/// The events that both count.
enum Events {
    /// Without hardware counters: `stat` counts faults from the kernel's accounting, and perf with the equivalent
    /// events.
    Software,
    /// The first event group that fits the counters, by names common to both.
    Hardware(Vec<String>),
}

impl Events {
    fn for_perf(&self) -> String {
        match self {
            Self::Software => "page-faults,task-clock,context-switches".to_owned(),
            Self::Hardware(names) => names.join(","),
        }
    }

    /// Returns names for `-e`; `None` if there are none.
    fn for_stat(&self) -> Option<String> {
        match self {
            Self::Software => None,
            Self::Hardware(names) => Some(names.join(",")),
        }
    }

    fn told(&self) -> String {
        match self {
            Self::Software => format!(
                "{} of perf; the faults of the kernel's accounting, and everything else that it \
                 always reads, of `stat` (this machine has no hardware counters)",
                self.for_perf()
            ),
            Self::Hardware(names) => names.join(", "),
        }
    }
}

/// Returns the events that the program counts on this machine, from an empty recording.
fn events(program: &Path) -> Result<Events> {
    let output = Command::new(program)
        .args(["stat", "--quiet", "--format", "json", "--", "true"])
        .output()
        .with_context(|| format!("starting {}", program.display()))?;
    let text = String::from_utf8(output.stdout).context("the recording")?;
    let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    let lines = lines.context("the recording")?;
    let summary = lines.last().context("an empty recording")?;
    let counts = summary["counts"].as_array().map_or(&[][..], Vec::as_slice);
    let first = counts.iter().filter(|count| count["group"] == 0);
    let names: Vec<String> = first
        .filter_map(|count| Some(count["event"].as_str()?.to_lowercase()))
        .collect();
    Ok(if names.is_empty() {
        Events::Software
    } else {
        Events::Hardware(names)
    })
}

fn table(
    arguments: &Arguments,
    program: &Path,
    events: &Events,
    name: &str,
    workload: &[OsString],
) -> Result<()> {
    let commands = commands(program, events, workload);
    let seconds = in_rounds(arguments, super::PAIRS, commands.len(), |place| {
        let (label, command) = &commands[place];
        run_bare(command).with_context(|| format!("running {label}"))
    })?;
    for (place, (label, _)) in commands.iter().enumerate() {
        let bare = times(&seconds[place], &seconds[BARE])?;
        let perf = times(&seconds[place], &seconds[PERF])?;
        let middle = median(&seconds[place]).context("nothing was measured")?;
        let pairs = seconds[place].len();
        println!("| {name} | {label} | {middle:.4} s | {bare} | {perf} | {pairs} |");
    }
    Ok(())
}

/// Returns the bare workload, perf and `stat` with one summary, and both with a line every tenth of a second.
fn commands(
    program: &Path,
    events: &Events,
    workload: &[OsString],
) -> Vec<(String, Vec<OsString>)> {
    let of = |program: &Path, words: &[&str]| {
        let words = words.iter().map(OsString::from);
        let all = std::iter::once(program.as_os_str().to_owned()).chain(words);
        all.chain(["--".into()])
            .chain(workload.iter().cloned())
            .collect()
    };
    let perf_events = events.for_perf();
    let perf = |more: &[&str]| {
        let words = [&["stat", "-e", &perf_events, "-o", "/dev/null"], more].concat();
        of(Path::new("perf"), &words)
    };
    let named = events.for_stat();
    let stat = |interval: &str| {
        let mut words = vec!["stat", "--quiet", "-I", interval];
        words.extend(named.as_deref().iter().flat_map(|names| ["-e", names]));
        of(program, &words)
    };
    vec![
        ("bare".to_owned(), workload.to_vec()),
        ("`perf stat`".to_owned(), perf(&[])),
        ("`hugewise stat -I 1h`".to_owned(), stat("1h")),
        ("`perf stat -I 100`".to_owned(), perf(&["-I", "100"])),
        ("`hugewise stat -I 100ms`".to_owned(), stat("100ms")),
    ]
}

fn times(one: &[f64], other: &[f64]) -> Result<String> {
    let shift = ratio(one.iter().copied(), other.iter().copied()).context("too few pairs")?;
    let interval = interval(&shift, 4).unwrap_or_else(|| "too few pairs".to_owned());
    Ok(format!("{:.4} | {interval}", shift.estimate))
}
