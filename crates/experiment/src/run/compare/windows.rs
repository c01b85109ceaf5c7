//! One process before and after an action, in windows of equal length.
//!
//! Nothing is paired or shuffled: any other change between the two is part of the difference. Consecutive windows are
//! also more correlated than a rank test assumes. So the time before is also compared with itself, first half against
//! second. If these differ, the process was not steady, and its comparison claims nothing and gives this reason.

use crate::run::compare::effect::Effect;
use crate::run::compare::rows::Estimate;
use crate::run::compare::{Change, Comparison, Statistic, Warning};
use crate::run::metric::Better;

/// The windows of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricWindows {
    /// Name of the metric.
    pub metric: String,
    /// The good direction.
    pub better: Better,
    /// One value per window, in the order of time.
    pub before: Vec<f64>,
    /// The same after the action.
    pub after: Vec<f64>,
}

/// Fewest windows on each side: half of them against the other half can just reach 95 % (4 against 4 values, whose
/// smallest p-value is 2 in 70).
pub const FEWEST_WINDOWS: u32 = 8;

/// The names of the time before and the time after in a row.
const BEFORE: &str = "before";
const AFTER: &str = "after";

/// Compares each metric after with the same metric before: the Mann–Whitney shift with its interval, without correction
/// over metrics. `threshold` is the smallest effect of interest, as a share.
#[must_use]
pub fn windows(samples: &[MetricWindows], threshold: f64) -> Vec<Comparison> {
    let compared = samples.iter().map(|one| {
        let mut comparison = row(one).finish(threshold);
        if is_unsteady(&one.before, threshold) {
            comparison.change = Change::CannotTell;
            comparison.warnings.push(Warning::Unsteady);
        }
        comparison
    });
    compared.collect()
}

fn row(one: &MetricWindows) -> Estimate {
    let effect = Effect::of_samples(&one.before, &one.after);
    Estimate {
        metric: one.metric.clone(),
        statistic: Statistic::Center,
        policy: AFTER.to_owned(),
        baseline: BEFORE.to_owned(),
        effect,
        n: u32::try_from(one.before.len().min(one.after.len())).unwrap_or(u32::MAX),
        warnings: Vec::new(),
    }
}

/// Returns true if the first half of the windows differs from the second by more than the threshold.
fn is_unsteady(before: &[f64], threshold: f64) -> bool {
    let (first, second) = before.split_at(before.len() / 2);
    Effect::of_samples(first, second)
        .is_some_and(|effect| matches!(effect.change(threshold), Change::Higher | Change::Lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(before: Vec<f64>, after: Vec<f64>) -> Comparison {
        let one = MetricWindows {
            metric: "cpu_share_ratio".to_owned(),
            better: Better::Lower,
            before,
            after,
        };
        windows(&[one], 0.01).remove(0)
    }

    fn around(center: f64) -> Vec<f64> {
        [0.3, -0.2, 0.1, -0.4, 0.2, -0.1, 0.4, -0.3]
            .iter()
            .map(|off| center + off * 0.01)
            .collect()
    }

    #[test]
    fn a_change_that_all_windows_show_is_one() {
        let lower = compared(around(1.0), around(0.8));
        assert_eq!((lower.change, lower.n), (Change::Lower, 8));
        let ratio = lower.ratio.expect("all positive");
        assert!((ratio - 0.8).abs() < 0.005, "{ratio}");
        let same = compared(around(1.0), around(1.0));
        assert_eq!(same.change, Change::NoDifference);
    }

    #[test]
    fn a_process_that_drifts_by_itself_gets_no_credit() {
        let drifting: Vec<f64> = (0..8).map(|step| 1.0 + f64::from(step) * 0.1).collect();
        let after: Vec<f64> = (8..16).map(|step| 1.0 + f64::from(step) * 0.1).collect();
        let comparison = compared(drifting, after);
        assert_eq!(comparison.change, Change::CannotTell);
        assert!(comparison.warnings == [Warning::Unsteady]);
    }

    #[test]
    fn zeroes_are_compared_by_difference() {
        let none = compared(vec![0.0; 8], vec![0.0; 8]);
        assert_eq!(none.change, Change::NoDifference);
        let some = compared(vec![0.0; 8], vec![5.0; 8]);
        assert_eq!((some.change, some.difference), (Change::Higher, Some(5.0)));
    }

    /// There must be enough windows for the test of steadiness to be able to fail.
    #[test]
    fn the_fewest_windows_can_show_a_drift() {
        let n = FEWEST_WINDOWS as usize;
        let steps = |n: usize| (0..n).map(|step| 1.0 + step as f64).collect::<Vec<_>>();
        assert!(!compared(steps(n), steps(n)).warnings.is_empty());
        assert!(compared(steps(n - 2), steps(n - 2)).warnings.is_empty());
    }
}
