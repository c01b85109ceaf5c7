//! Labels of a comparison and its metric.

use super::{Comparison, Statistic};
use crate::base::units::Unit;
use crate::run::metric::cell_label::find_metric;
use crate::run::metric::live::of_work;
use crate::run::metric::{Better, Metric, Scope, Shown};
use crate::run::record::Record;
use crate::text::number::{Scaler, percent_change, three_digits};
use crate::text::wrap::plain;

/// The metric with this name: built in, of a family, or printed by the workload.
pub fn metric_of(record: &Record, name: &str) -> Metric {
    let printed = record
        .header
        .plan
        .printed
        .iter()
        .find(|printed| printed.name == name);
    let bench = record.header.plan.bench.as_ref();
    if let Some(known) = find_metric(bench, name).filter(|_| printed.is_none()) {
        let live = record.header.plan.live.as_ref();
        return match live {
            Some(live) => of_work(known, &live.work.unit),
            None => known,
        };
    }
    Metric {
        name: name.to_owned().into(),
        label: name.to_owned().into(),
        unit: printed.map_or_else(|| Unit::Other("".into()), |it| unit_of(&it.unit)),
        better: printed.map_or(Better::Neither, |printed| printed.better),
        scope: Scope::Tree,
        shown: Shown::Always,
        doc: "Printed by the workload.".into(),
    }
}

/// The unit as users write it; bytes and seconds are scaled to a readable multiple.
fn unit_of(name: &str) -> Unit {
    match name {
        "B" => Unit::Bytes,
        "s" => Unit::Seconds,
        other => Unit::Other(plain(other).into()),
    }
}

/// The label of a metric, with the property of its sample unless it is the median.
pub fn label(metric: &Metric, statistic: Statistic) -> String {
    let label = plain(&metric.label);
    match statistic {
        Statistic::Center => label,
        Statistic::Quantile(quantile) => format!("{label}, {}", quantile.label()),
    }
}

/// The size of an effect. `×10` is easier to read than `+900 %`.
pub fn effect_text(comparison: &Comparison, scaler: &Scaler) -> String {
    match (comparison.ratio, comparison.difference) {
        (Some(ratio), _) => effect_of_ratio(ratio),
        (None, Some(difference)) => scaler.show_change(difference),
        (None, None) => "~".to_owned(),
    }
}

/// The size of an effect given as a ratio.
pub fn effect_of_ratio(ratio: f64) -> String {
    match ratio >= 10.0 {
        true => format!("×{}", three_digits(ratio)),
        false => format!("{} %", percent_change(ratio - 1.0)),
    }
}

/// The size of a comparison's effect, with the unit of its metric.
pub fn effect_of(record: &Record, comparison: &Comparison) -> String {
    let metric = metric_of(record, &comparison.metric);
    let values = comparison.difference.as_slice();
    effect_text(comparison, &Scaler::for_row(&metric.unit, values))
}

/// The label of a property of a metric; machine-wide counters are labelled as such.
pub fn label_of(record: &Record, metric: &str, statistic: Statistic) -> String {
    label_with_scope(&metric_of(record, metric), statistic)
}

/// The same for a metric.
pub fn label_with_scope(metric: &Metric, statistic: Statistic) -> String {
    let label = label(metric, statistic);
    match metric.scope {
        Scope::Machine => format!("{label} (machine-wide)"),
        _ => label,
    }
}
