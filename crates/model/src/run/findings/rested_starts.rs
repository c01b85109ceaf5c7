//! Starts after a rest, under a policy and under the baseline: what a gain on warm memory is worth to
//! a program that is started now and then.

use super::context::{PolicyView, told};
use crate::run::metric::MetricId;
use crate::run::stats::median;
use crate::text::number::counted;

/// With three starts of each, all of one are above all of the other by chance in one of twenty.
const LEAST: usize = 3;

/// Wall times of the starts after a rest, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RestedStarts {
    policy: Vec<f64>,
    baseline: Vec<f64>,
}

/// How the starts of a policy differ from those of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// Every one was longer than all of the baseline's.
    Longer,
    /// Every one was shorter than all of the baseline's.
    Shorter,
    /// They overlap, or there are too few.
    Open,
}

impl RestedStarts {
    /// `None` where one of the two has none. All count, whatever they found: the few pages that are touched before a
    /// trial, to see whether memory is cold, are those that were freed last, and tell little of the rest.
    pub(super) fn of(view: &PolicyView<'_, '_>) -> Option<Self> {
        let record = view.context.record;
        let baseline = view.context.baseline();
        let starts = Self {
            policy: record.rested_walls(view.policy),
            baseline: record.rested_walls(baseline),
        };
        let is_whole = !starts.policy.is_empty() && !starts.baseline.is_empty();
        (is_whole && view.policy != baseline).then_some(starts)
    }

    pub(super) fn difference(&self) -> Difference {
        let ends = |values: &[f64]| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            (low, values.iter().copied().fold(0.0, f64::max))
        };
        let ((low, high), (least, most)) = (ends(&self.policy), ends(&self.baseline));
        match self.policy.len().min(self.baseline.len()) >= LEAST {
            true if low > most => Difference::Longer,
            true if high < least => Difference::Shorter,
            _ => Difference::Open,
        }
    }

    /// The middle start of the policy less that of the baseline, in seconds.
    pub(super) fn change(&self) -> f64 {
        let [policy, baseline] = self.middles();
        policy - baseline
    }

    /// How many there are of the one that has fewer.
    pub(super) fn count(&self) -> usize {
        self.policy.len().min(self.baseline.len())
    }

    /// `a start after a few seconds of rest takes 86.0 ms longer than with as-is`.
    pub(super) fn sentence(&self, baseline: &str) -> String {
        let change = told(MetricId::WallSeconds, self.change().abs());
        match self.difference() {
            Difference::Longer => {
                format!(
                    "a start after a few seconds of rest takes {change} longer than with {baseline}"
                )
            }
            Difference::Shorter => format!(
                "a start after a few seconds of rest gains too: it takes {change} less than with \
                 {baseline}"
            ),
            Difference::Open if self.count() < LEAST => {
                "how long a start takes after a few seconds of rest was measured too few times"
                    .to_owned()
            }
            Difference::Open => format!(
                "a start after a few seconds of rest was not shown to be longer or shorter than with \
                 {baseline}"
            ),
        }
    }

    /// `3 starts of thp=always after a rest took 650 ms (median), and 3 of as-is 564 ms`.
    pub(super) fn medians(&self, policy: &str, baseline: &str) -> String {
        let [here, there] = self.middles().map(|it| told(MetricId::WallSeconds, it));
        let starts = counted(self.policy.len() as u64, "start");
        format!(
            "{starts} of {policy} after a rest took {here} (median), and {} of {baseline} {there}",
            self.baseline.len()
        )
    }

    fn middles(&self) -> [f64; 2] {
        [&self.policy, &self.baseline].map(|values| median(values).unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_starts_that_do_not_overlap_differ() {
        let difference = |policy: &[f64], baseline: &[f64]| {
            let starts = RestedStarts {
                policy: policy.to_vec(),
                baseline: baseline.to_vec(),
            };
            starts.difference()
        };
        let [low, high] = [[1.0, 1.1, 1.2], [1.3, 1.4, 1.5]];
        assert_eq!(difference(&high, &low), Difference::Longer);
        assert_eq!(difference(&low, &high), Difference::Shorter);
        assert_eq!(difference(&[1.0, 1.4, 1.2], &high), Difference::Open);
        assert_eq!(difference(&high[..2], &low), Difference::Open);
    }
}
