//! One sample, as a sentence tells it.

use crate::run::compare::Summary;
use crate::run::metric::Metric;
use crate::text::number::Scaler;
use crate::text::number::quantity;

/// `3.37 s (median of 8 trials; 95 %: 3.36 s to 3.39 s)`.
pub(super) fn typical(metric: &Metric, summary: &Summary) -> String {
    let median = quantity(&metric.unit, summary.median);
    let trials = match summary.n {
        1 => return format!("{median} (1 trial; a median with its interval needs 6)"),
        n => format!("median of {n} trials"),
    };
    let interval = match (summary.low, summary.high) {
        (Some(low), Some(high)) => {
            let scaler = Scaler::for_row(&metric.unit, &[low, high]);
            format!("95 %: {} to {}", scaler.show(low), scaler.show(high))
        }
        _ => "its interval needs 6".to_owned(),
    };
    format!("{median} ({trials}; {interval})")
}
