//! Which metrics a record holds, in the order of reports, and which direction is good.

use std::collections::BTreeSet;

use crate::run::metric;
use crate::run::metric::MetricId;
use crate::run::metric::{Better, METRICS};
use crate::run::record::Record;
use crate::run::trial::Reading;

/// The names of all metrics that any of the records read or tried to read: the table's, then
/// those of the folio sizes by size, then the printed ones in the order of the plan.
pub(super) fn names(records: &[&Record]) -> Vec<String> {
    let trials = || records.iter().flat_map(|record| &record.trials);
    let mut left: BTreeSet<&str> = trials()
        .flat_map(|trial| trial.readings.keys().map(String::as_str))
        .collect();
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

/// The size in the name of a folio metric; what is no folio metric sorts last.
fn folio_kib(name: &str) -> u64 {
    name.strip_prefix("mthp_")
        .and_then(|rest| rest.split_once("kib_"))
        .and_then(|(kib, _)| kib.parse().ok())
        .unwrap_or(u64::MAX)
}

/// Which direction is good: as the plan says of a printed metric, else as the table says.
/// `None` for a name that neither knows.
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

/// Whether the tails over rounds of single numbers are worth rows of their own.
pub(super) fn has_tails(record: &Record, name: &str) -> bool {
    name == MetricId::WallSeconds.name()
        || record
            .header
            .plan
            .printed
            .iter()
            .any(|metric| metric.name == name)
}

/// Whether trials counted the values of a metric one by one, so that they can be merged.
pub(super) fn is_counted(record: &Record, name: &str) -> bool {
    let trials = record.trials.iter();
    trials
        .filter_map(|trial| trial.readings.get(name))
        .any(|reading| matches!(reading, Reading::Histogram { .. }))
}
