//! The metrics of a record, in the order of reports, and their good directions.

use std::collections::BTreeSet;

use crate::run::metric;
use crate::run::metric::MetricId;
use crate::run::metric::{Better, METRICS};
use crate::run::record::Record;
use crate::run::trial::{Reading, readings};

/// The names of all metrics that any of the records read or tried to read. The built-in ones come first, then the folio
/// sizes by size, then the printed ones in the order of the plan.
pub(super) fn names(records: &[&Record]) -> Vec<String> {
    let trials = records.iter().flat_map(|record| &record.trials);
    let mut left = readings::names(trials.map(|trial| &trial.readings));
    let mut names: Vec<&str> = METRICS
        .iter()
        .map(|metric| &*metric.name)
        .filter(|name| left.remove(name))
        .collect();
    let printed: Vec<&str> = records
        .iter()
        .flat_map(|record| &record.header.plan.printed)
        .map(|metric| metric.name.as_str())
        .filter(|name| left.remove(name))
        .collect();
    let mut others: Vec<&str> = left.into_iter().collect();
    others.sort_by_key(|name| folio_kib(name));
    names.extend(others);
    names.extend(printed);
    names.into_iter().map(str::to_owned).collect()
}

/// The size in the name of a folio metric; other names sort last.
fn folio_kib(name: &str) -> u64 {
    name.strip_prefix("mthp_")
        .and_then(|rest| rest.split_once("kib_"))
        .and_then(|(kib, _)| kib.parse().ok())
        .unwrap_or(u64::MAX)
}

/// The good direction: from the plan for a printed metric, otherwise from the metric table. `None` for a name in
/// neither.
pub(super) fn better(record: &Record, name: &str) -> Option<Better> {
    let printed = record
        .header
        .plan
        .printed
        .iter()
        .find(|metric| metric.name == name);
    printed
        .map(|metric| metric.better)
        .or_else(|| metric::find(name).map(|metric| metric.better))
}

/// Returns true if the tails over rounds of single numbers deserve separate rows.
pub(super) fn has_tails(record: &Record, name: &str) -> bool {
    name == MetricId::WallSeconds.name()
        || record
            .header
            .plan
            .printed
            .iter()
            .any(|metric| metric.name == name)
}

/// Metrics with more than one number per trial.
#[derive(Debug, Default)]
pub(crate) struct Forms<'a> {
    /// Those with counted values, so that the values of all trials can be merged.
    pub(crate) counted: BTreeSet<&'a str>,
    /// Those with individually listed values.
    pub(crate) listed: BTreeSet<&'a str>,
}

impl<'a> Forms<'a> {
    pub(crate) fn of(record: &'a Record) -> Self {
        let mut forms = Self::default();
        for (name, reading) in record.trials.iter().flat_map(|trial| &trial.readings) {
            let names = match reading {
                Reading::Histogram { .. } => &mut forms.counted,
                Reading::Values { .. } => &mut forms.listed,
                Reading::Value { .. } | Reading::Missing { .. } => continue,
            };
            names.insert(name);
        }
        forms
    }
}
