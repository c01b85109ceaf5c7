//! Experiments on rules whose records are kept in the source tree: their results and locations.
//!
//! `knowledge/tried.json` is generated from the records by a test, so no figure is typed by hand.

use serde::{Deserialize, Serialize};

use super::rule::Test;
use hugewise_experiment::run::compare::{Comparison, Options, Statistic, table};
use hugewise_experiment::run::metric;
use hugewise_experiment::run::record::Record;
use hugewise_text::ends::percent_ends;
use hugewise_text::number::{counted, percent_change};

/// The results of the records at build time.
const KEPT: &str = include_str!("../knowledge/tried.json");

/// A metric that is kept in addition to the metric of the verdict and those named in rules.
const ALSO: &str = "peak_rss_bytes";

/// One kept record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Path of the record in the source tree.
    pub record: String,
    /// Time of the experiment, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The machine, in words.
    pub machine: String,
    /// The effects, the one of the verdict first.
    pub effects: Vec<Effect>,
}

/// The change of a metric under a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The policy.
    pub policy: String,
    /// The baseline policy.
    pub baseline: String,
    /// The metric.
    pub metric: String,
    /// The change and its 95 % interval, as ratios: 0.97 is 3 % less.
    pub change: [f64; 3],
}

/// A test of a rule with its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// The test.
    #[serde(flatten)]
    pub test: Test,
    /// The machine, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The result, if the record has an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
}

/// Returns the kept experiments.
///
/// # Errors
/// Fails if the file is invalid. A test ensures that it is valid.
pub fn kept() -> Result<Vec<Experiment>, String> {
    serde_json::from_str(KEPT).map_err(|why| format!("tried.json: {why}"))
}

/// Extracts the kept results of a record, including the metrics named in rules.
///
/// # Errors
/// Fails if the record has no comparison.
pub fn experiment(record: &Record, path: &str, named: &[&str]) -> Result<Experiment, String> {
    let table = table(record, &Options::default()).map_err(|why| format!("{path}: {why}"))?;
    let of = |metric: &str| {
        let rows = table.comparisons.iter();
        let rows = rows.filter(|row| row.statistic == Statistic::Center && row.metric == metric);
        rows.filter_map(effect).collect::<Vec<_>>()
    };
    let mut metrics = vec![table.verdict.metric.as_str()];
    for name in [ALSO].iter().chain(named) {
        if !metrics.contains(name) {
            metrics.push(name);
        }
    }
    Ok(Experiment {
        record: path.to_owned(),
        unix_ms: record.header.created_unix_ms,
        machine: machine(record),
        effects: metrics.into_iter().flat_map(of).collect(),
    })
}

fn effect(row: &Comparison) -> Option<Effect> {
    let kept = |ratio: f64| (ratio * 1e4).round() / 1e4;
    Some(Effect {
        policy: row.policy.clone(),
        baseline: row.baseline.clone(),
        metric: row.metric.clone(),
        change: [row.ratio?, row.low?, row.high?].map(kept),
    })
}

fn machine(record: &Record) -> String {
    let host = &record.header.host;
    let cpus = counted(u64::from(host.cpus), "CPU");
    let place = host.hypervisor.as_ref();
    let place = place.map_or("no VM".to_owned(), |name| format!("VM ({name})"));
    format!("{}, {cpus}, {place}, Linux {}", host.cpu_model, host.kernel)
}

impl Experiment {
    /// Returns the result of a test.
    #[must_use]
    pub fn effect_of(&self, test: &Test) -> Option<&Effect> {
        let mut own = self.effects.iter().filter(|it| it.policy == test.policy);
        own.find(|it| test.metric.as_ref().is_none_or(|name| *name == it.metric))
    }
}

impl Effect {
    /// The change with its interval and the compared policies, for people.
    #[must_use]
    pub fn words(&self) -> String {
        let Self {
            policy, baseline, ..
        } = self;
        let change = change_words(&self.metric, self.change);
        format!("{change} with policy {policy} instead of {baseline}")
    }
}

impl Tried {
    /// The result, the machine, the date, and the path of the record.
    #[must_use]
    pub fn account(&self) -> String {
        let machine = self.machine.as_deref().unwrap_or("another machine");
        format!(
            "by us, {}; on {}, {machine}; record {}",
            self.words(),
            self.test.date,
            self.test.record
        )
    }

    /// The result: the verdict and the change.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.effect {
            Some(effect) => format!("{}: {}", self.test.verdict, effect.words()),
            None => self.test.verdict.to_string(),
        }
    }
}

/// The change of a metric with its interval.
pub(super) fn change_words(name: &str, change: [f64; 3]) -> String {
    let label = metric::measured(name).map(|metric| metric.label.into_owned());
    let label = label.unwrap_or_else(|| name.trim_end_matches("_per_second").replace('_', " "));
    let [change, low, high] = change.map(|ratio| ratio - 1.0);
    let ([low, high], change) = (percent_ends(low, high), percent_change(change));
    format!("{label} {change} % (95 %: {low} to {high} %)")
}
