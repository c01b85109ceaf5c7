//! Runs after a rest, under a policy and under the baseline: what a gain on warm memory is worth to
//! a program that is run now and then.

use super::context::{PolicyView, told};
use crate::run::metric::MetricId;
use crate::run::record::COLD_REST;
use crate::run::stats::shift::{Shift, unpaired};
use crate::run::stats::{ALPHA, median};
use crate::text::ends::{percent_beside, percent_ends};
use crate::text::number::{MINUS, counted};

/// Wall times of the runs after a rest, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RestedRuns {
    policy: Vec<f64>,
    baseline: Vec<f64>,
}

/// How much longer runs take under a policy than under the baseline, as shares of the latter's median, with
/// both ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::run) struct LongerRun {
    pub(in crate::run) estimate: f64,
    pub(in crate::run) low: f64,
    pub(in crate::run) high: f64,
    /// How many runs there are of the one that has fewer.
    pub(in crate::run) runs: u64,
}

/// What is expected of a run after a rest that was not measured.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) struct Touches {
    /// How much longer it takes to touch the huge pages, in seconds.
    pub(in crate::run) longer: f64,
    /// What they save on warm memory, by the mean over the rounds, in seconds.
    pub(in crate::run) saved: f64,
}

impl Touches {
    /// Whether more is lost than saved. Small pages are cold then too, and pay a part.
    pub(in crate::run) fn outweigh(self) -> bool {
        self.saved > 0.0 && self.longer > self.saved
    }
}

/// How a run after a rest differs from one under the baseline.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) enum RestedRun {
    /// It was shown to take longer.
    Longer(LongerRun),
    /// It was shown to take less.
    Shorter(LongerRun),
    /// It was measured, and did not tell.
    Open(LongerRun),
    /// There are too few. What touching huge pages takes longer then, where nothing was run after a rest.
    Unmeasured(Option<Touches>),
}

impl RestedRun {
    /// `In single runs, each after 4 s of rest in which the hypervisor takes memory back, it takes 38 % longer (…).` `None` where
    /// too few were measured.
    pub(in crate::run) fn sentence(&self) -> Option<String> {
        let change = match self {
            Self::Longer(it) | Self::Shorter(it) => format!("it takes {}", it.text()),
            Self::Open(it) => format!("not decided: {}", it.text()),
            Self::Unmeasured(_) => return None,
        };
        Some(format!(
            "In single runs, each after {} s of rest in which the hypervisor takes memory back, {change}.",
            COLD_REST.as_secs()
        ))
    }
}

impl LongerRun {
    /// What its interval shows.
    pub(super) fn shown(self) -> RestedRun {
        match self {
            it if it.low > 0.0 => RestedRun::Longer(it),
            it if it.high < 0.0 => RestedRun::Shorter(it),
            it => RestedRun::Open(it),
        }
    }

    /// `38 % longer (95 %: 4 to 75 %; 4 runs of each)`; below zero it is `less`. Where zero is between its ends, `+7 %
    /// (95 %: −9 to +25 %; …)`.
    pub(in crate::run) fn text(&self) -> String {
        let share = percent_beside(self.estimate.abs(), self.high - self.low);
        let bare = |ends: [String; 2]| ends.map(|end| end.trim_start_matches('+').to_owned());
        let (change, ends) = if self.low > 0.0 {
            let ends = bare(percent_ends(self.low, self.high));
            (format!("{share} % longer"), ends)
        } else if self.high < 0.0 {
            let ends = bare(percent_ends(-self.high, -self.low));
            (format!("{share} % less"), ends)
        } else {
            let sign = if self.estimate < 0.0 { MINUS } else { '+' };
            (
                format!("{sign}{share} %"),
                percent_ends(self.low, self.high),
            )
        };
        format!(
            "{change} (95 %: {} to {} %; {} runs of each)",
            ends[0], ends[1], self.runs
        )
    }
}

impl RestedRuns {
    /// `None` where one of the two has none. All count, whatever they found: the few pages that are touched before a
    /// trial, to see whether memory is cold, are those that were freed last, and tell little of the rest.
    pub(super) fn of(view: &PolicyView<'_, '_>) -> Option<Self> {
        let record = view.context.record;
        let baseline = view.context.baseline();
        let runs = Self {
            policy: record.rested_walls(view.policy),
            baseline: record.rested_walls(baseline),
        };
        let is_whole = !runs.policy.is_empty() && !runs.baseline.is_empty();
        (is_whole && view.policy != baseline).then_some(runs)
    }

    /// The shift of the runs; `None` where there are too few for an interval. It needs four of each: all of one
    /// are then above all of the other by chance in one case of 35.
    pub(super) fn longer(&self) -> Option<LongerRun> {
        let Shift {
            estimate, interval, ..
        } = unpaired(&self.baseline, &self.policy, ALPHA)?;
        let (low, high) = interval?;
        let usual = median(&self.baseline)?;
        let [estimate, low, high] = [estimate, low, high].map(|seconds| seconds / usual);
        Some(LongerRun {
            estimate,
            low,
            high,
            runs: self.count(),
        })
    }

    /// How many there are of the one that has fewer.
    pub(super) fn count(&self) -> u64 {
        self.policy.len().min(self.baseline.len()) as u64
    }

    /// `a run after a few seconds of rest takes 38 % longer … than with as-is`.
    pub(super) fn sentence(&self, baseline: &str) -> String {
        const RUN: &str = "a run after a few seconds of rest";
        match self.longer().map(LongerRun::shown) {
            Some(RestedRun::Longer(it)) => {
                format!("{RUN} takes {} than with {baseline}", it.text())
            }
            Some(RestedRun::Shorter(it)) => {
                format!(
                    "{RUN} gains too: it takes {} than with {baseline}",
                    it.text()
                )
            }
            Some(RestedRun::Open(it)) => format!(
                "{RUN} was not shown to be longer or shorter than with {baseline}: {}",
                it.text()
            ),
            Some(RestedRun::Unmeasured(_)) | None => {
                format!("{RUN} was measured too few times")
            }
        }
    }

    /// `4 runs of thp=always after a rest took 650 ms (median), and 4 of as-is 564 ms`.
    pub(super) fn medians(&self, policy: &str, baseline: &str) -> String {
        let middle = |values: &[f64]| told(MetricId::WallSeconds, median(values).unwrap_or(0.0));
        format!(
            "{} of {policy} after a rest took {} (median), and {} of {baseline} {}",
            counted(self.policy.len() as u64, "run"),
            middle(&self.policy),
            self.baseline.len(),
            middle(&self.baseline)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longer(policy: &[f64], baseline: &[f64]) -> Option<LongerRun> {
        let runs = RestedRuns {
            policy: policy.to_vec(),
            baseline: baseline.to_vec(),
        };
        runs.longer()
    }

    #[test]
    fn four_runs_of_each_have_an_interval() {
        let [low, high] = [[1.0, 1.1, 1.2, 1.3], [1.5, 1.6, 1.7, 1.8]];
        let more = longer(&high, &low).expect("four of each");
        let text = "43 % longer (95 %: 17 to 70 %; 4 runs of each)";
        assert_eq!(more.text(), text);
        let less = longer(&low, &high).expect("four of each");
        let text = "30 % less (95 %: 12 to 49 %; 4 runs of each)";
        assert_eq!(less.text(), text);
        let open = longer(&[1.0, 1.7, 1.2, 1.4], &high).expect("four of each");
        let text = "−21 % (95 %: −49 to +13 %; 4 runs of each)";
        assert_eq!(open.text(), text);
        assert_eq!(longer(&high[..3], &low), None);
    }
}
