//! `hugewise fleet analyse`: compares the arms of a fleet from its rows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hugewise_experiment::run::metric::Better;
use hugewise_fleet::analyse::document::{csv, document};
use hugewise_fleet::analyse::planned::misplaced;
use hugewise_fleet::analyse::{Analysis, Question, Spending, Tally, page};
use hugewise_fleet::plan::{Moment, Plan};
use serde::Serialize;

use super::plan_file::PlanFile;
use super::{assign, plan_file};
use crate::exit::{self, Exit};
use crate::http::Endpoint;
use crate::options::{PageFile, parse_share};
use crate::output::{self, Output};
use crate::stderr::message;

mod files;
mod prometheus;

/// Flags of `fleet analyse`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Rows of agents: folders, or files of JSON lines or Parquet
    #[arg(value_name = "FOLDER|FILE", required_unless_present = "prometheus")]
    rows: Vec<PathBuf>,

    /// Read recording rules of the Prometheus at URL instead
    #[arg(long, value_name = "URL", requires = "plan", conflicts_with = "rows", value_parser = prometheus::endpoint)]
    prometheus: Option<Endpoint>,

    /// First moment [default: by the plan]
    ///
    /// As long before the plan's start as after it, and before the start the last 100 periods.
    #[arg(long, value_name = "TIME", requires = "prometheus")]
    from: Option<Moment>,

    /// The agents' plan; needed for switchbacks
    ///
    /// P-values are then drawn by its rule.
    #[arg(long, value_name = "PLAN")]
    plan: Option<PathBuf>,

    /// Baseline arm [default: the plan's first, or control]
    #[arg(long, value_name = "ARM")]
    control: Option<String>,

    /// Metric that decides [default: p99_seconds]
    ///
    /// If --lower or --higher names a metric, that one decides.
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,

    /// Less of METRIC is better
    #[arg(long, value_name = "METRIC")]
    lower: Vec<String>,

    /// More of METRIC is better
    #[arg(long, value_name = "METRIC")]
    higher: Vec<String>,

    /// Smallest change that matters
    #[arg(long, value_name = "SHARE", value_parser = parse_share, default_value = "1%")]
    threshold: f64,

    /// Number of looks planned [default: PLAN's stages or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    looks: Option<u32>,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    page: PageFile,
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
    arguments.page.check()?;
    let plan = arguments.plan.as_deref().map(plan_file::read).transpose()?;
    let turns = plan.as_ref().and_then(|file| file.plan.turns());
    let mut tally = Tally::new(turns);
    for path in &arguments.rows {
        files::add(&mut tally, path)?;
    }
    if let Some((endpoint, plan)) = arguments.prometheus.as_ref().zip(plan.as_ref()) {
        prometheus::add(&mut tally, endpoint, plan, arguments.from)?;
    }
    if let Some(file) = plan.as_ref().filter(|_| tally.rows > 0) {
        check_plan(file, &tally)?;
    }
    let plan = plan.map(|file| file.plan);
    let question = question(arguments, plan, &tally)?;
    let analysis = Analysis::of(&tally, &question);
    let report = Report {
        format: "hugewise-fleet 1",
        analysis: &analysis,
    };
    let text = || document(&analysis);
    output::show(&arguments.output, &report, text, || csv(&analysis))?;
    arguments.page.write(|| Ok(page::page(&analysis)))?;
    Ok(Exit::Done)
}

/// Checks that the rows belong to this plan: its random draws do not apply to other arms.
fn check_plan(file: &PlanFile, tally: &Tally) -> Result<()> {
    let plan = &file.plan;
    if plan.name != tally.experiment {
        let (plan, rows) = (&plan.name, &tally.experiment);
        let text = format!("the plan is of {plan}, and the rows are of {rows}");
        return Err(exit::usage(text));
    }
    let others = misplaced(tally, plan);
    if let Some(first) = others.first() {
        return Err(exit::usage(format!(
            "{} of {} units have another arm in their rows than this plan gives them: {} has {}, \
             and {} by the plan; give the plan by which the rows were written",
            others.len(),
            tally.units.len(),
            first.unit,
            first.arm,
            first.planned
        )));
    }
    if !tally.plans.contains(&file.digest) {
        let rows: Vec<&str> = tally.plans.iter().map(String::as_str).collect();
        message(format_args!(
            "the rows were written under another text of the plan: theirs is {}, this one is {}",
            rows.join(", "),
            file.digest
        ));
    }
    Ok(())
}

fn question(arguments: &Arguments, plan: Option<Plan>, tally: &Tally) -> Result<Question> {
    if tally.rows == 0 {
        return Err(exit::usage(match &arguments.prometheus {
            None => "there is no row in these files",
            Some(_) => {
                "there is no row of this plan since --from: is `hugewise export --fleet` with this \
                 very plan scraped, and are the recording rules of \
                 contrib/prometheus/hugewise-fleet.rules.yml in force?"
            }
        }));
    }
    let spending = match (arguments.looks, &plan) {
        (Some(looks), _) => Spending::equal(looks),
        (None, Some(plan)) => Spending::of_plan(plan),
        (None, None) => Spending::equal(1),
    };
    if tally.stage >= spending.looks() {
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
        spending,
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
    // Before the first turn all units are in their initial arm.
    let is_planned = plan.is_some_and(|plan| plan.switchback.is_some());
    if !is_planned && !arms.contains(&name) {
        let arms = arms.join(", ");
        return Err(exit::usage(format!(
            "no unit has the arm {name}, which the others are compared with; there are: {arms}. \
             Add the rows of its units, or name another arm (--control)"
        )));
    }
    Ok(name)
}
