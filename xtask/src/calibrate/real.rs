//! Real A/A experiments: the same policy twice on the machine at hand, which must not differ.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::table::Table;
use crate::program;

const HEAD: [&str; 6] = [
    "run",
    "rounds",
    "second against first",
    "95 % interval",
    "verdict",
    "control against first",
];

/// What the experiments gave, and with which program.
#[derive(Debug)]
pub struct Real {
    /// A row for each experiment.
    pub table: Table,
    /// The whole command.
    pub command: String,
    /// The name of its program, without its folder.
    pub program: String,
}

/// Runs `count` experiments, and counts how often the same was called different.
///
/// # Errors
/// When the program does not build, a trial fails, or a report lacks what is looked for.
pub fn run(count: u32, policy: &str, command: &[OsString]) -> Result<Real> {
    let program = program::build()?;
    let sort = program::sort()?;
    let command = if command.is_empty() { &sort } else { command };
    let mut rows = Vec::new();
    let mut different = 0;
    for nth in 1..=count {
        let report = experiment(&program, policy, command)?;
        let row = Row::of(&report, policy)?;
        different += u32::from(row.is_different());
        eprintln!("run {nth} of {count}: {}", row.verdict);
        rows.push([vec![nth.to_string()], row.cells].concat());
    }
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let name = Path::new(&command[0]).file_name().unwrap_or_default();
    Ok(Real {
        table: Table {
            head: HEAD.to_vec(),
            rows,
            sum: format!("{different} of {count} runs called the same policy different."),
        },
        command: words.join(" "),
        program: name.to_string_lossy().into_owned(),
    })
}

fn experiment(program: &Path, policy: &str, command: &[OsString]) -> Result<Value> {
    // As root any policy may be asked for; as-is needs nothing.
    let mut flags = vec!["--policy", policy, "--policy", policy, "--max-rounds", "16"];
    if policy != "as-is" {
        flags.push("--system");
    }
    program::report(program, &flags, command)
}

struct Row {
    verdict: String,
    cells: Vec<String>,
}

impl Row {
    fn of(report: &Value, policy: &str) -> Result<Self> {
        let second = format!("{policy} #2");
        let comparisons = report["comparisons"].as_array().context("no comparisons")?;
        let row = comparisons
            .iter()
            .find(|row| row["metric"] == "wall_seconds" && row["statistic"] == "center")
            .context("the wall time was not compared")?;
        let verdict = report["verdict"]["policies"][&second]
            .as_str()
            .context("no verdict")?
            .to_owned();
        let control = &report["control"];
        let interval = format!("{} to {}", percent(&row["low"]), percent(&row["high"]));
        let cells = vec![
            row["n"].to_string(),
            percent(&row["ratio"]),
            interval,
            verdict.clone(),
            percent(&control["comparison"]["ratio"]),
        ];
        Ok(Self { verdict, cells })
    }

    fn is_different(&self) -> bool {
        matches!(self.verdict.as_str(), "better" | "worse" | "mixed")
    }
}

fn percent(ratio: &Value) -> String {
    ratio.as_f64().map_or_else(
        || "~".to_owned(),
        |ratio| format!("{:+.2} %", (ratio - 1.0) * 100.0),
    )
}
