//! `hugewise fleet assign`: the arm of each unit.

use std::io::{BufRead, IsTerminal, stdin};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use hugewise_fleet::assign::{Assignment, OUTSIDE, assign, rules};
use hugewise_fleet::plan::{Moment, Plan};
use hugewise_fleet::snippet::{Engine, snippet};
use hugewise_fleet::unit::check_unit;
use hugewise_linux::machine::clock::since_1970;
use hugewise_text::csv::{Csv, optional};
use hugewise_text::number::counted;
use serde_json::json;

use super::{plan_file, stop};
use crate::exit::{self, Exit};
use crate::output;
use crate::stderr::message;

/// Flags of `fleet assign`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The plan, a TOML file
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    /// Units; without them stdin is read, a line each
    #[arg(value_name = "UNIT", conflicts_with = "engine")]
    units: Vec<String>,

    /// Form: csv, json, or one field a line: arm, policy
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = Form::Csv, value_name = "FORM")]
    format: Form,

    /// Print the function instead: for sql (DuckDB), clickhouse, spark, jinja, go
    #[arg(long = "as", value_name = "ENGINE", conflicts_with = "format", value_parser = engine)]
    engine: Option<Engine>,

    /// The moment, for stages and turns [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<Moment>,
}

/// Forms of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Csv,
    Json,
    Arm,
    Policy,
}

/// An engine from the text of a flag.
fn engine(text: &str) -> Result<Engine, String> {
    text.parse()
        .map_err(|_| format!("it is one of {}", Engine::names()))
}

/// Runs it.
pub(super) fn run(arguments: &Arguments) -> Result<Exit> {
    let plan = plan_file::read(&arguments.plan)?.plan;
    let now = arguments.at.unwrap_or_else(now);
    if let Some(engine) = arguments.engine {
        output::print(&snippet(&plan, &rules(&plan, now), engine))?;
        return Ok(Exit::Done);
    }
    let stopped = stop::found(&plan.name);
    if let Some(stop) = &stopped {
        message(format_args!(
            "{stop} stops {}: every unit is {OUTSIDE}",
            plan.name
        ));
    }
    let mut all = Vec::new();
    for unit in units(arguments)? {
        check_unit(&unit).map_err(exit::usage)?;
        let mut assignment = assign(&plan, &unit, now);
        if stopped.is_some() {
            OUTSIDE.clone_into(&mut assignment.arm);
        }
        all.push(assignment);
    }
    output::print(&text(&plan, &all, arguments.format)?)?;
    if stopped.is_none() {
        say_nobody(&plan, &all, now);
    }
    Ok(Exit::Done)
}

/// Explains why no unit takes part; agents of such a plan write nothing.
fn say_nobody(plan: &Plan, all: &[Assignment], now: Moment) {
    if now >= plan.until {
        return message(format_args!("{} is over: `until` has passed", plan.name));
    }
    if !all.is_empty() && all.iter().all(|it| it.arm == OUTSIDE) {
        let units = counted(all.len() as u64, "unit");
        message(format_args!(
            "none of {units} takes part in {} at this moment: its stage or its band is a small \
             share of all units",
            plan.name
        ));
    }
}

/// The current wall-clock time, in the units of a plan.
pub(super) fn now() -> Moment {
    Moment(i64::try_from(since_1970().as_secs()).unwrap_or(i64::MAX))
}

fn units(arguments: &Arguments) -> Result<Vec<String>> {
    if !arguments.units.is_empty() {
        return Ok(arguments.units.clone());
    }
    if stdin().is_terminal() {
        message("units are read from this terminal, a name a line; Ctrl-D ends them");
    }
    let lines = stdin().lock().lines();
    let lines = lines.map(|line| Ok(line.context("reading units from stdin")?.trim().to_owned()));
    let units: Vec<String> = lines
        .filter(|line: &Result<String>| !line.as_ref().is_ok_and(String::is_empty))
        .collect::<Result<_>>()?;
    if units.is_empty() {
        message("stdin named no unit: give names behind the plan, or a name a line on stdin");
    }
    Ok(units)
}

fn policy<'a>(plan: &'a Plan, assignment: &Assignment) -> &'a str {
    let mut arms = plan.arms.iter();
    let arm = arms.find(|arm| arm.name == assignment.arm);
    arm.map_or("as-is", |arm| &arm.policy.name)
}

fn text(plan: &Plan, all: &[Assignment], form: Form) -> Result<String> {
    Ok(match form {
        Form::Arm => all.iter().map(|it| format!("{}\n", it.arm)).collect(),
        Form::Policy => {
            let line = |it: &Assignment| format!("{}\n", policy(plan, it));
            all.iter().map(line).collect()
        }
        Form::Csv => csv(plan, all),
        Form::Json => output::json(&json!({
            "format": "hugewise-assignment 1",
            "experiment": plan.name,
            "units": all,
        }))?,
    })
}

fn csv(plan: &Plan, all: &[Assignment]) -> String {
    let mut csv = Csv::new(&[
        "unit",
        "cluster",
        "arm",
        "policy",
        "stage",
        "saturation",
        "enrol",
        "draw",
    ]);
    for it in all {
        csv.row([
            it.unit.clone(),
            it.cluster.clone(),
            it.arm.clone(),
            policy(plan, it).to_owned(),
            optional(it.stage),
            optional(it.saturation),
            it.enrol.clone(),
            it.draw.clone(),
        ]);
    }
    csv.into_text()
}
