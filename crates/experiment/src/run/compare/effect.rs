//! One effect: on its scale, and against the threshold.

use crate::run::compare::{Change, Scale};
use crate::run::stats::{ALPHA, Draw, Shift, Sums, median, unpaired};

/// An effect, as a logarithm if it is a ratio.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effect {
    pub(super) scale: Scale,
    pub(super) baseline_value: f64,
    pub(super) policy_value: f64,
    pub(super) estimate: f64,
    pub(super) interval: Option<(f64, f64)>,
    /// Two-sided, corrected for the number of claims that share the error.
    pub(super) p: Option<f64>,
    /// A conclusion from the values without statistics, if they hardly scatter.
    pub(super) fact: Option<Fact>,
}

/// A conclusion from the values of a few rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fact {
    /// The values of policy and baseline do not overlap.
    Apart(Change),
    /// All values are within this distance, on the scale.
    Within(f64),
}

/// The part of the error spent on bets on single runs; the direction of the typical run has the rest.
const OF_SINGLE_RUNS: f64 = 0.1;

/// The error of one end of an interval, if so many claims share that of the experiment.
pub(super) fn one_sided(claims: u32) -> f64 {
    ALPHA * (1.0 - OF_SINGLE_RUNS) / 2.0 / f64::from(claims.max(1))
}

/// The two-sided p-value of no effect as one of so many claims: at most [`ALPHA`] if and only if the interval excludes
/// zero.
fn p_of(sums: &Sums<'_>, claims: u32) -> f64 {
    let level = 2.0 * one_sided(claims);
    (sums.p(level) / level * ALPHA).min(1.0)
}

/// The logarithm of the wealth at which a bet on single runs shows a gain, or a loss.
pub(super) fn needed_of_single_runs(claims: u32) -> f64 {
    -(ALPHA * OF_SINGLE_RUNS / 2.0 / f64::from(claims.max(1))).ln()
}

/// Ratio if every value has a logarithm, otherwise difference.
pub(super) fn scale_of(mut values: impl Iterator<Item = f64>) -> Scale {
    if values.all(|value| value > 0.0) {
        Scale::Ratio
    } else {
        Scale::Difference
    }
}

/// The effect of `policy` on `baseline`, on a scale.
pub(super) fn on(scale: Scale, baseline: f64, policy: f64) -> f64 {
    match scale {
        Scale::Ratio => policy.ln() - baseline.ln(),
        Scale::Difference => policy - baseline,
    }
}

/// The rounds of one policy and metric, as the shuffle assigned them.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    pub(super) scale: Scale,
    /// As they were read.
    pub(super) values: Vec<Draw>,
    /// On the scale.
    pub(super) scaled: Vec<Draw>,
}

impl Draws {
    pub(super) fn of(values: Vec<Draw>) -> Self {
        let each = |draw: &Draw| [draw.policies(), draw.baselines()].concat();
        let scale = scale_of(values.iter().flat_map(each));
        let origin = if scale == Scale::Ratio { 1.0 } else { 0.0 };
        let scaled = values
            .iter()
            .map(|draw| draw.map(|value| on(scale, origin, value)));
        Self {
            scaled: scaled.collect(),
            scale,
            values,
        }
    }

    /// All runs of the baseline.
    pub(super) fn baselines(&self) -> Vec<f64> {
        let runs = self.values.iter().flat_map(Draw::baselines);
        runs.copied().collect()
    }

    /// All runs of the policy.
    pub(super) fn policies(&self) -> Vec<f64> {
        let runs = self.values.iter().flat_map(Draw::policies);
        runs.copied().collect()
    }
}

/// The threshold on the scale. For a ratio it is the same number of steps up and down: 1 % more is × 1.01, 1 % less is
/// ÷ 1.01. So swapping the arms swaps the answer. For a difference it is that share of the baseline's median. With a
/// baseline of zero it is zero, and any difference counts.
pub(super) fn limit(scale: Scale, baseline_value: f64, threshold: f64) -> f64 {
    match scale {
        Scale::Ratio => threshold.ln_1p(),
        Scale::Difference => threshold * baseline_value.abs(),
    }
}

/// Values separated by this many times their scatter need no test. For example, 57,000 faults that became 100 in each
/// of three rounds are a fact.
const APART: f64 = 10.0;
/// One or two rounds show no scatter.
const FEWEST_FOR_A_FACT: usize = 3;

/// The conclusion from the values of `baselines` and `policies` over so many rounds.
fn fact(scale: Scale, [baselines, policies]: [&[f64]; 2], rounds: usize) -> Option<Fact> {
    if rounds < FEWEST_FOR_A_FACT {
        return None;
    }
    let ends = |values: &[f64]| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        (
            low,
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        )
    };
    let (a, b) = (ends(baselines), ends(policies));
    let scatter = (a.1 - a.0).max(b.1 - b.0) * APART;
    if b.0 - a.1 > scatter {
        return Some(Fact::Apart(Change::Higher));
    }
    if a.0 - b.1 > scatter {
        return Some(Fact::Apart(Change::Lower));
    }
    let (low, high) = (a.0.min(b.0), a.1.max(b.1));
    Some(Fact::Within(match scale {
        Scale::Ratio => (high / low).ln(),
        Scale::Difference => high - low,
    }))
}

/// The possible part of an interval: a value that is never below zero cannot fall by more than the baseline.
fn possible(draws: &Draws, (low, high): (f64, f64)) -> (f64, f64) {
    let (baselines, policies) = (draws.baselines(), draws.policies());
    let mut all = baselines.iter().chain(&policies);
    if draws.scale == Scale::Ratio || all.any(|&value| value < 0.0) {
        return (low, high);
    }
    let most = baselines.iter().copied().fold(0.0, f64::max);
    (low.max(-most), high)
}

impl Effect {
    /// The effect in rounds, as one of so many claims.
    pub(super) fn of_draws(draws: &Draws, claims: u32) -> Option<Self> {
        let effect = Self::untested(draws, claims)?;
        let p = p_of(&Sums::of(&draws.scaled), claims);
        Some(Self {
            p: Some(p),
            ..effect
        })
    }

    /// The same without a p-value, if only the interval is needed.
    pub(super) fn untested(draws: &Draws, claims: u32) -> Option<Self> {
        let sums = Sums::of(&draws.scaled);
        let estimate = sums.estimate()?;
        let (baselines, policies) = (draws.baselines(), draws.policies());
        Some(Self {
            scale: draws.scale,
            baseline_value: median(&baselines)?,
            policy_value: median(&policies)?,
            estimate,
            interval: sums
                .interval_around(estimate, one_sided(claims))
                .map(|interval| possible(draws, interval)),
            p: None,
            fact: fact(draws.scale, [&baselines, &policies], draws.values.len()),
        })
    }

    /// The effect between two independent samples.
    pub(super) fn of_samples(a: &[f64], b: &[f64]) -> Option<Self> {
        let scale = scale_of(a.iter().chain(b).copied());
        let scaled = |values: &[f64]| -> Vec<f64> {
            let origin = if scale == Scale::Ratio { 1.0 } else { 0.0 };
            values
                .iter()
                .map(|&value| on(scale, origin, value))
                .collect()
        };
        Self::new(scale, a, b, unpaired(&scaled(a), &scaled(b), ALPHA)?)
    }

    /// The effect between two sessions: one value each and no interval. Only a large distance is a change.
    pub(super) fn of_sessions(a: &[f64], b: &[f64]) -> Option<Self> {
        let effect = Self::of_samples(a, b)?;
        let fact = fact(effect.scale, [a, b], a.len().min(b.len()));
        Some(Self {
            interval: None,
            p: None,
            fact: fact.filter(|it| matches!(it, Fact::Apart(_))),
            ..effect
        })
    }

    fn new(scale: Scale, a: &[f64], b: &[f64], shift: Shift) -> Option<Self> {
        Some(Self {
            scale,
            baseline_value: median(a)?,
            policy_value: median(b)?,
            estimate: shift.estimate,
            interval: shift.interval,
            p: Some(shift.p),
            fact: None,
        })
    }

    /// The change that this effect shows if taken as a single claim. Its direction is known if its interval excludes
    /// zero; an interval within the threshold shows no difference of interest.
    pub(super) fn change(&self, threshold: f64) -> Change {
        let limit = limit(self.scale, self.baseline_value, threshold);
        match (self.by_interval(limit), self.fact) {
            (Change::CannotTell, Some(Fact::Apart(change))) => change,
            (Change::CannotTell, Some(Fact::Within(range))) if range <= limit => {
                Change::NoDifference
            }
            (change, _) => change,
        }
    }

    /// The change that the interval shows, if effects within `limit` are of no interest.
    pub(super) fn by_interval(&self, limit: f64) -> Change {
        let significant = self.p.is_none_or(|p| p <= ALPHA);
        match self.interval {
            Some((low, high)) if -limit <= low && high <= limit => Change::NoDifference,
            Some((low, _)) if low > 0.0 && significant => Change::Higher,
            Some((_, high)) if high < 0.0 && significant => Change::Lower,
            _ => Change::CannotTell,
        }
    }

    /// Half the width of the interval, as a share of the baseline's value.
    pub(super) fn half_width(&self) -> Option<f64> {
        let (low, high) = self.interval?;
        let half = (high - low) / 2.0;
        match self.scale {
            Scale::Ratio => Some(half.exp_m1()),
            Scale::Difference if half == 0.0 => Some(0.0),
            Scale::Difference => Some(half / self.baseline_value.abs()),
        }
    }

    /// A number of this effect as it is reported: the ratio itself, not its logarithm.
    pub(super) fn shown(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Ratio => value.exp(),
            Scale::Difference => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(low: f64, high: f64) -> Change {
        let effect = Effect {
            scale: Scale::Ratio,
            baseline_value: 1.0,
            policy_value: 1.0,
            estimate: f64::midpoint(low, high),
            interval: Some((low, high)),
            p: Some(0.001),
            fact: None,
        };
        effect.change(0.01)
    }

    #[test]
    fn a_direction_needs_an_interval_without_zero() {
        assert_eq!(change(0.02, 0.03), Change::Higher);
        assert_eq!(change(0.005, 0.03), Change::Higher);
        assert_eq!(change(-0.03, -0.02), Change::Lower);
        assert_eq!(change(-0.005, 0.009), Change::NoDifference);
        assert_eq!(change(0.002, 0.009), Change::NoDifference);
        assert_eq!(change(-0.03, 0.005), Change::CannotTell);
    }

    #[test]
    fn zero_is_a_baseline_like_any_other() {
        let draws = |policy| {
            let one = Draw::new(vec![policy], vec![0.0, 0.0]).expect("runs of both");
            Draws::of(vec![one; 12])
        };
        let effect = Effect::of_draws(&draws(7.0), 1).expect("twelve rounds");
        assert_eq!(effect.scale, Scale::Difference);
        assert!((effect.estimate - 7.0).abs() < 1e-6, "{effect:?}");
        assert_eq!(effect.change(0.01), Change::Higher);
        let same = Effect::of_draws(&draws(0.0), 1).expect("twelve rounds");
        assert_eq!(same.change(0.01), Change::NoDifference, "{same:?}");
    }
}
