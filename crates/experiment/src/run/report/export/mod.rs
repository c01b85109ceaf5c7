//! The trials and the answer in the formats of other programs.
//!
//! Exports only successful trials, without those of the control: other programs would count it as a policy.

use serde_json::Value;
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::Report;
use crate::base::parquet;
use crate::run::answer::program_name;
use crate::run::compare::labels::metric_of;
use crate::run::compare::medians::arm_trials;
use crate::run::gate::Gate;
use crate::run::metric::{Metric, MetricId};
use crate::run::record::Record;
use crate::run::trial::{Reading, Trial};

mod bencher;
mod benchfmt;
mod cases;
mod github_action;
mod google_benchmark;
mod hyperfine;
mod junit;
mod ktap;
mod otlp;
mod pyperf;

/// A format that another program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Export {
    /// Go's benchmark format, for benchstat: a line a trial
    /// (<https://go.dev/design/14313-benchmark-format>).
    Benchfmt,
    /// The format of `hyperfine --export-json`: a command for each policy.
    Hyperfine,
    /// JSON of google/benchmark: a repetition a trial.
    GoogleBenchmark,
    /// Bencher Metric Format: the median of each policy with its interval
    /// (<https://bencher.dev/docs/reference/bencher-metric-format/>).
    Bencher,
    /// JSON of github-action-benchmark for its tool `customSmallerIsBetter`.
    GithubAction,
    /// `JUnit` XML: the answer and every `--fail-if` as a test case.
    Junit,
    /// KTAP, the test results of the Linux kernel: the cases of `JUnit`, with the report as diagnostic lines
    /// (<https://docs.kernel.org/dev-tools/ktap.html>).
    Ktap,
    /// What `pyperf command -o FILE` writes: a benchmark for each policy, and a run for each trial.
    Pyperf,
    /// Metrics of OpenTelemetry as JSON: a gauge for each metric with a point for each trial
    /// (<https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>).
    Otlp,
    /// A row for each trial and metric, as `--format csv`.
    CsvLong,
    /// The same rows as a file of Apache Parquet.
    Parquet,
}

impl Export {
    /// The names of all formats.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::VARIANTS.iter().map(Into::into)
    }

    /// Returns an error if this program cannot write the format.
    ///
    /// # Errors
    /// Fails if it was built without Parquet.
    pub fn check(self) -> Result<(), parquet::Error> {
        match self {
            Self::Parquet => parquet::check(),
            _ => Ok(()),
        }
    }

    /// The report in this format.
    ///
    /// # Errors
    /// Fails if this program cannot write the format.
    pub fn render(self, report: &Report<'_>, gates: &[Gate]) -> Result<Vec<u8>, parquet::Error> {
        let record = report.record;
        let text = match self {
            Self::Parquet => return parquet::file(&report.long_form()),
            Self::Benchfmt => benchfmt::render(record),
            Self::Hyperfine => indented(&hyperfine::render(record)),
            Self::GoogleBenchmark => indented(&google_benchmark::render(record)),
            Self::Bencher => indented(&bencher::render(record)),
            Self::GithubAction => indented(&github_action::render(record)),
            Self::Junit => junit::render(report, gates),
            Self::Ktap => ktap::render(report, gates),
            Self::Pyperf => indented(&pyperf::render(record)),
            Self::Otlp => indented(&otlp::render(record)),
            Self::CsvLong => report.csv(),
        };
        Ok(text.into_bytes())
    }
}

fn indented(value: &Value) -> String {
    format!("{value:#}\n")
}

/// One program under one policy.
struct Arm<'a> {
    /// Its name in the record: the policy, or `PROGRAM: POLICY` if several programs are compared.
    name: &'a str,
    /// The name of its program.
    program: &'a str,
    /// The name of its policy.
    policy: &'a str,
    /// Its command, separated by blanks.
    command: String,
    /// Its exported trials.
    trials: Vec<&'a Trial>,
}

impl Arm<'_> {
    /// A name for readers that compare all rows of a file.
    fn title(&self) -> String {
        format!("{} [{}]", self.program, self.policy)
    }
}

/// The arms in the order of the plan.
fn arms(record: &Record) -> impl Iterator<Item = Arm<'_>> {
    let plan = &record.header.plan;
    plan.policies.iter().map(move |policy| {
        let program = plan.program_of(&policy.name);
        let trials = arm_trials(record, &policy.name).filter(|trial| trial.succeeded());
        Arm {
            name: &policy.name,
            program: program.map_or_else(|| program_name(record), |program| &program.name),
            policy: plan.policy_of(&policy.name),
            command: program
                .map_or(&plan.command, |program| &program.command)
                .join(" "),
            trials: trials.collect(),
        }
    })
}

/// The command of the record; with several programs, that of the first.
fn command_line(record: &Record) -> String {
    record.header.plan.command.join(" ")
}

/// The metrics with a plain number in any trial, in the order of their names.
fn metrics(record: &Record) -> Vec<Metric> {
    let trials = record.trials.iter();
    let readings = trials.flat_map(|trial| &trial.readings);
    let plain = readings.filter(|(_, reading)| matches!(reading, Reading::Value { .. }));
    let names: std::collections::BTreeSet<&String> = plain.map(|(name, _)| name).collect();
    names
        .into_iter()
        .map(|name| metric_of(record, name))
        .collect()
}

/// One number for each trial with a reading.
fn values(trials: &[&Trial], metric: MetricId) -> Vec<f64> {
    trials
        .iter()
        .filter_map(|trial| trial.value(metric))
        .collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
