//! One figure for all benchmarks of a source, so that a metric known before the first run decides.

use super::{Latency, Load};
use crate::base::missing::Missing;
use crate::run::stats::median;
use crate::run::trial::Reading;

/// Returns the geometric mean of the times of one operation. Its change is the typical change of a benchmark, and a
/// longer benchmark has no larger weight.
pub(super) fn of_all(loads: &[Load]) -> Reading {
    let mut logarithms = Vec::new();
    for load in loads {
        match seconds(load) {
            Ok(seconds) if seconds > 0.0 => logarithms.push(seconds.ln()),
            Ok(_) => return Reading::missing(Missing::unreadable(no_time(load))),
            Err(why) => return Reading::missing(why),
        }
    }
    let sum: f64 = logarithms.iter().sum();
    Reading::of((sum / logarithms.len().max(1) as f64).exp())
}

/// Returns the typical time of one operation, also for a rate.
fn seconds(load: &Load) -> Result<f64, Missing> {
    let of_rates = || median(&load.throughput).map(|rate| 1.0 / rate);
    let seconds = match &load.latency {
        Some(Latency::Values(values)) => median(values),
        Some(Latency::Counted(all)) => all.quantile_ns(0.5).map(|ns| ns as f64 / 1e9),
        Some(Latency::Unknown { why, .. }) => return Err(why.clone()),
        Some(Latency::Quantiles(_)) | None => of_rates(),
    };
    seconds
        .filter(|it| it.is_finite())
        .ok_or_else(|| Missing::unreadable(no_time(load)))
}

fn no_time(load: &Load) -> String {
    let name = load.name.as_deref().unwrap_or("the benchmark");
    format!("{name} has no time above 0; name a metric with --judge-by")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(values: &[f64]) -> Load {
        Load {
            latency: Some(Latency::Values(values.to_vec())),
            ..Load::default()
        }
    }

    #[test]
    fn a_change_of_one_of_two_benchmarks_is_halved_on_a_scale_of_ratios() {
        let value = |loads: &[Load]| match of_all(loads) {
            Reading::Value { value } => value,
            other => panic!("{other:?}"),
        };
        let before = value(&[timed(&[1e-9]), timed(&[4.0, 4.0, 9.0])]);
        let after = value(&[timed(&[4e-9]), timed(&[4.0, 4.0, 9.0])]);
        assert!((after / before - 2.0).abs() < 1e-9);
        let rate = Load {
            throughput: vec![50.0],
            ..Load::default()
        };
        assert!((value(&[rate]) - 0.02).abs() < 1e-12);
    }

    #[test]
    fn a_benchmark_without_a_time_leaves_no_figure_of_all() {
        let zero = of_all(&[timed(&[1.0]), timed(&[0.0])]);
        assert!(matches!(zero, Reading::Missing { .. }));
        assert!(matches!(
            of_all(&[Load::default()]),
            Reading::Missing { .. }
        ));
    }
}
