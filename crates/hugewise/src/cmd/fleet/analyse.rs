//! `hugewise fleet analyse`: what the rows of a fleet say.

use std::collections::BTreeMap;
use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use hugewise_model::fleet::Row;
use hugewise_model::fleet::analyse::document::{csv, document};
use hugewise_model::fleet::analyse::{Analysis, Question, Tally};
use hugewise_model::fleet::plan::Plan;
use hugewise_model::run::metric::Better;
use serde::Serialize;

use super::plan_file;
use crate::exit::{self, Exit};
use crate::file;
use crate::options::parse_share;
use crate::output::{self, Output};

/// Flags of `fleet analyse`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Rows of agents: folders, or files of JSON lines
    #[arg(value_name = "FOLDER|FILE", required = true)]
    rows: Vec<PathBuf>,

    /// Draw p-values by the rule of PLAN; turns need it
    #[arg(long, value_name = "PLAN")]
    plan: Option<PathBuf>,

    /// Baseline arm [default: the plan's first, or control]
    #[arg(long, value_name = "ARM")]
    control: Option<String>,

    /// The metric that decides [default: that of --lower or --higher, or p99_seconds]
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,

    /// Less of METRIC is better
    #[arg(long, value_name = "METRIC")]
    lower: Vec<String>,

    /// More of METRIC is better
    #[arg(long, value_name = "METRIC")]
    higher: Vec<String>,

    /// Changes of less are no difference
    #[arg(long, value_name = "SHARE", value_parser = parse_share, default_value = "1%")]
    threshold: f64,

    /// How often the rows are looked at, in all [default: the stages of PLAN, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    looks: Option<u32>,

    #[command(flatten)]
    output: Output,
}

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    format: &'static str,
    #[serde(flatten)]
    analysis: &'a Analysis,
}

/// Runs it.
pub(super) fn run(arguments: &Arguments) -> Result<Exit> {
    output::check_file(&arguments.output)?;
    let plan = arguments.plan.as_deref().map(plan_file::read).transpose()?;
    let plan = plan.map(|file| file.plan);
    let mut tally = Tally::new(plan.as_ref().and_then(Plan::turns));
    for path in &arguments.rows {
        add(&mut tally, path)?;
    }
    let question = question(arguments, plan, &tally)?;
    let analysis = Analysis::of(&tally, &question);
    let report = Report {
        format: "hugewise-fleet 1",
        analysis: &analysis,
    };
    let page = || document(&analysis);
    output::show(&arguments.output, &report, page, || csv(&analysis))?;
    Ok(Exit::Done)
}

/// Adds the rows of a file, or of all files `*.jsonl` below a folder.
fn add(tally: &mut Tally, path: &Path) -> Result<()> {
    if !path.is_dir() {
        return add_file(tally, path);
    }
    let before = tally.rows;
    add_folder(tally, path)?;
    if tally.rows == before {
        let folder = path.display();
        return Err(exit::usage(format!(
            "{folder}: no file below this folder ends in .jsonl and has rows; give the folder \
             that `fleet agent --out` wrote"
        )));
    }
    Ok(())
}

fn add_folder(tally: &mut Tally, folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    // A link to a folder is not followed: it may lead back to where it lies.
    let found = entries.map(|entry| {
        let entry = entry?;
        Ok((entry.path(), entry.file_type()?.is_dir()))
    });
    let mut found: Vec<(PathBuf, bool)> = found.collect::<std::io::Result<_>>()?;
    found.sort();
    for (path, is_folder) in found {
        if is_folder {
            add_folder(tally, &path)?;
        } else if path.extension().is_some_and(|it| it == "jsonl") {
            add_file(tally, &path)?;
        }
    }
    Ok(())
}

fn add_file(tally: &mut Tally, path: &Path) -> Result<()> {
    let name = path.display();
    let opened = file::open(path).map_err(|error| exit::usage(format!("{name}: {error}")))?;
    let mut reader = std::io::BufReader::with_capacity(1 << 16, opened);
    let mut line = String::new();
    for number in 1.. {
        line.clear();
        let wrong = |problem: &dyn std::fmt::Display| {
            exit::usage(format!("{name}, line {number}: {problem}"))
        };
        let read = reader.read_line(&mut line).map_err(|error| wrong(&error))?;
        if read == 0 {
            break;
        }
        if line.trim().is_empty() {
            continue;
        }
        let row: Row = serde_json::from_str(&line)
            .map_err(|error| wrong(&format_args!("not a row of `fleet agent`: {error}")))?;
        tally.add(&row).map_err(|error| wrong(&error))?;
    }
    Ok(())
}

fn question(arguments: &Arguments, plan: Option<Plan>, tally: &Tally) -> Result<Question> {
    if tally.rows == 0 {
        return Err(exit::usage("there is no row in these files"));
    }
    if let Some(plan) = plan.as_ref().filter(|plan| plan.name != tally.experiment) {
        let (plan, rows) = (&plan.name, &tally.experiment);
        let text = format!("the plan is of {plan}, and the rows are of {rows}");
        return Err(exit::usage(text));
    }
    let named = plan.as_ref().map_or(1, |plan| plan.stages.len().max(1));
    let stages = arguments.looks.unwrap_or(u32::try_from(named).unwrap_or(1));
    if tally.stage >= stages {
        let seen = tally.stage + 1;
        return Err(exit::usage(format!(
            "the rows have {seen} stages: give --plan or --looks, so that the error is spent \
             over all looks"
        )));
    }
    let mut better = BTreeMap::new();
    for (metrics, direction) in [
        (&arguments.lower, Better::Lower),
        (&arguments.higher, Better::Higher),
    ] {
        better.extend(metrics.iter().map(|metric| (metric.clone(), direction)));
    }
    let asked = better.keys().chain(&arguments.metric);
    for metric in asked {
        if !tally.metric_names().any(|it| it == metric) {
            let known: Vec<&str> = tally.metric_names().map(String::as_str).collect();
            let known = known.join(", ");
            return Err(exit::usage(format!(
                "no row has the metric {metric}; there are: {known}"
            )));
        }
    }
    Ok(Question {
        control: control(arguments, plan.as_ref(), tally)?,
        metric: arguments.metric.clone(),
        better,
        band: arguments.threshold,
        stages,
        plan,
    })
}

fn control(arguments: &Arguments, plan: Option<&Plan>, tally: &Tally) -> Result<String> {
    let planned = plan
        .and_then(|plan| plan.arms.first())
        .map(|arm| arm.name.clone());
    let asked = arguments.control.clone();
    let name = asked.or(planned).unwrap_or_else(|| "control".to_owned());
    let arms = tally.arms();
    if !arms.contains(&name) {
        let arms = arms.join(", ");
        return Err(exit::usage(format!(
            "no unit has the arm {name}, which the others are compared with; there are: {arms} \
             (--control)"
        )));
    }
    Ok(name)
}
