//! The metrics of a report.

use std::collections::{BTreeMap, BTreeSet};

use super::Report;
use crate::run::compare::columns::Forms;
use crate::run::metric::METRICS;
use crate::run::metric::requests::order;
use crate::run::trial::readings;

/// The names of the metrics that a report may show.
#[derive(Debug)]
pub(super) struct Names {
    /// All of them in the order of the table: that of the verdict first, then what was printed, what
    /// requests gave, and the others.
    pub(super) listed: Vec<String>,
    /// Those whose values were counted, so that percentiles stand for them.
    pub(super) counted: BTreeSet<String>,
}

impl Names {
    pub(super) fn of<'a>(report: &'a Report<'_>) -> &'a Self {
        report.known.names.get_or_init(|| Self::read(report))
    }

    fn read(report: &Report<'_>) -> Self {
        let trials = report.record.trials.iter();
        let mut present = readings::names(trials.map(|trial| &trial.readings));
        let counted = Forms::of(report.record).counted.into_iter();
        let compared = report.table.comparisons.iter();
        present.extend(compared.map(|comparison| comparison.metric.as_str()));
        Self {
            listed: listed(report, &present),
            counted: counted.map(str::to_owned).collect(),
        }
    }
}

fn listed(report: &Report<'_>, present: &BTreeSet<&str>) -> Vec<String> {
    let verdict = report.table.verdict.metric.as_str();
    let printed = report.record.header.plan.printed.iter();
    let printed = printed.map(|printed| printed.name.as_str());
    let requests = present.iter();
    let requests = requests.filter_map(|name| Some((order(name)?, *name)));
    let requests: BTreeMap<_, &str> = requests.collect();
    let mut names: Vec<&str> = std::iter::once(verdict)
        .chain(printed)
        .chain(requests.into_values())
        .chain(METRICS.iter().map(|metric| metric.name.as_ref()))
        .chain(present.iter().copied())
        .collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| present.contains(name) && seen.insert(*name));
    names.into_iter().map(str::to_owned).collect()
}
