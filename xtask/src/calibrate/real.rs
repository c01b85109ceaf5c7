//! Real A/A experiments: the same policy twice on the machine at hand, which must not differ.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::program;

const HEAD: &str = "\
| run | rounds | second against first | 95 % interval | verdict | control against first | control |
|--:|--:|--:|---|---|--:|---|
";

/// Runs `count` experiments and prints a row for each, then how often the same was called
/// different.
pub fn run(count: u32, policy: &str, command: &[OsString]) -> Result<()> {
    let program = program::build()?;
    let sort = program::sort()?;
    let command = if command.is_empty() { &sort } else { command };
    print!("{HEAD}");
    let mut different = 0;
    for nth in 1..=count {
        let report = experiment(&program, policy, command)?;
        let row = Row::of(&report, policy)?;
        different += u32::from(row.is_different());
        println!("| {nth} {}", row.cells);
    }
    println!("\n{different} of {count} runs called the same policy different.");
    Ok(())
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
    cells: String,
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
        let passed = if control["passed"] == true {
            "passed"
        } else {
            "failed"
        };
        let cells = format!(
            "| {} | {} | {} to {} | {verdict} | {} | {passed} |",
            row["n"],
            percent(&row["ratio"]),
            percent(&row["low"]),
            percent(&row["high"]),
            percent(&control["comparison"]["ratio"]),
        );
        Ok(Self { verdict, cells })
    }

    fn is_different(&self) -> bool {
        matches!(self.verdict.as_str(), "better" | "worse")
    }
}

fn percent(ratio: &Value) -> String {
    ratio.as_f64().map_or_else(
        || "~".to_owned(),
        |ratio| format!("{:+.2} %", (ratio - 1.0) * 100.0),
    )
}
