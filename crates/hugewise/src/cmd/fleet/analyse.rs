//! `hugewise fleet analyse`: what the arms do, by the rows of the units.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use hugewise_model::fleet::Row;
use hugewise_model::fleet::analyse::{Gathered, analyse};
use hugewise_model::fleet::plan::Plan;

use super::plan_file;
use crate::exit::{self, Exit};
use crate::output::{self, Output};

/// Flags of `fleet analyse`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The plan, a TOML file
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    /// Files of rows (.jsonl), or folders with such files
    #[arg(value_name = "ROWS", required = true)]
    rows: Vec<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// Runs it.
pub(super) fn run(arguments: &Arguments) -> Result<Exit> {
    output::check_file(&arguments.output)?;
    let plan = plan_file::read(&arguments.plan)?.plan;
    refuse_designs(&plan)?;
    let mut gathered = Gathered::default();
    let mut files = 0;
    for path in &arguments.rows {
        files += read(path, &plan, &mut gathered)?;
    }
    let Some(analysis) = analyse(&plan, &gathered) else {
        let (name, others) = (&plan.name, gathered.others);
        return Err(exit::usage(format!(
            "no unit has rows of {name} under an arm: {files} files read, {others} rows of other \
             experiments"
        )));
    };
    let document = || analysis.document();
    output::show(&arguments.output, &analysis, document, || analysis.csv())?;
    Ok(Exit::Done)
}

/// Designs whose rows mean something else than one arm for each unit.
fn refuse_designs(plan: &Plan) -> Result<()> {
    let design = match (&plan.switchback, plan.saturation.is_empty()) {
        (Some(_), _) => "switchback",
        (None, false) => "saturation",
        (None, true) => return Ok(()),
    };
    Err(exit::refused(format!(
        "{}: plans with `{design}` cannot be analysed by this version; the rows are JSON lines, \
         which DuckDB reads by read_json_auto",
        plan.name
    )))
}

/// Reads a file, or all files of rows below a folder; the number of files.
fn read(path: &Path, plan: &Plan, gathered: &mut Gathered) -> Result<u64> {
    let reading = || format!("reading {}", path.display());
    if !fs::metadata(path).with_context(reading)?.is_dir() {
        read_file(path, plan, gathered)?;
        return Ok(1);
    }
    let mut files = 0;
    for entry in fs::read_dir(path).with_context(reading)? {
        let below = entry.with_context(reading)?.path();
        if below.is_dir() || below.extension().is_some_and(|it| it == "jsonl") {
            files += read(&below, plan, gathered)?;
        }
    }
    Ok(files)
}

/// Line by line: a file may be larger than memory.
fn read_file(path: &Path, plan: &Plan, gathered: &mut Gathered) -> Result<()> {
    let file = File::open(path).with_context(|| format!("reading {}", path.display()))?;
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("reading {}", path.display()))?;
        if line.trim().is_empty() {
            continue;
        }
        let row: Row = serde_json::from_str(&line).map_err(|error| {
            let (path, line) = (path.display(), index + 1);
            exit::usage(format!(
                "{path}, line {line} is no row of an experiment: {error}"
            ))
        })?;
        gathered.add(&row, &plan.name);
    }
    Ok(())
}
