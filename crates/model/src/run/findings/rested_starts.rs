//! Starts after a rest, under a policy and under the baseline: what a gain on warm memory is worth to
//! a program that is started now and then.

use super::context::{PolicyView, told};
use crate::base::units::Unit;
use crate::run::metric::MetricId;
use crate::run::stats::shift::{Shift, unpaired};
use crate::run::stats::{ALPHA, median};
use crate::text::number::{counted, quantity};

/// Wall times of the starts after a rest, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RestedStarts {
    policy: Vec<f64>,
    baseline: Vec<f64>,
}

/// How much longer starts take under a policy than under the baseline, in seconds, with both ends of its
/// interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::run) struct LongerStart {
    pub(in crate::run) estimate: f64,
    pub(in crate::run) low: f64,
    pub(in crate::run) high: f64,
    /// How many starts there are of the one that has fewer.
    pub(in crate::run) starts: u64,
}

impl LongerStart {
    /// `82.0 ms longer (95 %: 40.0 ms to 130 ms; 4 starts of each)`; below zero it is `less`.
    pub(in crate::run) fn text(&self) -> String {
        let seconds = |value| quantity(&Unit::Seconds, value);
        let (ends, direction) = match self.estimate < 0.0 {
            true => ([-self.high, -self.low], "less"),
            false => ([self.low, self.high], "longer"),
        };
        let [low, high] = ends.map(seconds);
        format!(
            "{} {direction} (95 %: {low} to {high}; {} starts of each)",
            seconds(self.estimate.abs()),
            self.starts
        )
    }
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

    /// The shift of the starts; `None` where there are too few for an interval. It needs four of each: all of one
    /// are then above all of the other by chance in one case of 35.
    pub(super) fn longer(&self) -> Option<LongerStart> {
        let Shift {
            estimate, interval, ..
        } = unpaired(&self.baseline, &self.policy, ALPHA)?;
        let (low, high) = interval?;
        Some(LongerStart {
            estimate,
            low,
            high,
            starts: self.count(),
        })
    }

    /// How many there are of the one that has fewer.
    pub(super) fn count(&self) -> u64 {
        self.policy.len().min(self.baseline.len()) as u64
    }

    /// `a start after a few seconds of rest takes 86.0 ms longer … than with as-is`.
    pub(super) fn sentence(&self, baseline: &str) -> String {
        const START: &str = "a start after a few seconds of rest";
        match self.longer() {
            None => format!("{START} was measured too few times"),
            Some(it) if it.low > 0.0 => format!("{START} takes {} than with {baseline}", it.text()),
            Some(it) if it.high < 0.0 => {
                format!(
                    "{START} gains too: it takes {} than with {baseline}",
                    it.text()
                )
            }
            Some(it) => format!(
                "{START} was not shown to be longer or shorter than with {baseline}: {}",
                it.text()
            ),
        }
    }

    /// `4 starts of thp=always after a rest took 650 ms (median), and 4 of as-is 564 ms`.
    pub(super) fn medians(&self, policy: &str, baseline: &str) -> String {
        let middle = |values: &[f64]| told(MetricId::WallSeconds, median(values).unwrap_or(0.0));
        format!(
            "{} of {policy} after a rest took {} (median), and {} of {baseline} {}",
            counted(self.policy.len() as u64, "start"),
            middle(&self.policy),
            self.baseline.len(),
            middle(&self.baseline)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longer(policy: &[f64], baseline: &[f64]) -> Option<LongerStart> {
        let starts = RestedStarts {
            policy: policy.to_vec(),
            baseline: baseline.to_vec(),
        };
        starts.longer()
    }

    #[test]
    fn four_starts_of_each_have_an_interval() {
        let [low, high] = [[1.0, 1.1, 1.2, 1.3], [1.5, 1.6, 1.7, 1.8]];
        let more = longer(&high, &low).expect("four of each");
        let text = "500 ms longer (95 %: 200 ms to 800 ms; 4 starts of each)";
        assert_eq!(more.text(), text);
        let less = longer(&low, &high).expect("four of each");
        let text = "500 ms less (95 %: 200 ms to 800 ms; 4 starts of each)";
        assert_eq!(less.text(), text);
        let open = longer(&[1.0, 1.7, 1.2, 1.4], &high).expect("four of each");
        let text = "350 ms less (95 %: −200 ms to 800 ms; 4 starts of each)";
        assert_eq!(open.text(), text);
        assert_eq!(longer(&high[..3], &low), None);
    }
}
