//! One effect: on its scale, against the threshold, and how much more would settle it.

use crate::run::compare::{Change, Scale};
use crate::run::plan::looks::fewest_pairs;
use crate::run::stats::{ALPHA, Shift, median, paired, unpaired};

/// An effect, on the logarithm for a ratio.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effect {
    pub(super) scale: Scale,
    pub(super) baseline_value: f64,
    pub(super) policy_value: f64,
    pub(super) estimate: f64,
    pub(super) interval: Option<(f64, f64)>,
    /// Before Holm and before the share of the look.
    pub(super) p: f64,
    pub(super) n: u32,
}

/// What surprises are worth here: the error that may be spent, and the practical threshold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// The share of [`ALPHA`] that belongs to the look.
    pub(super) share: f64,
    /// The smallest effect of interest, as a share of the baseline.
    pub(super) threshold: f64,
}

impl Level {
    pub(super) fn alpha(self) -> f64 {
        ALPHA * self.share
    }
}

/// Ratio where every value allows a logarithm, else difference.
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

impl Effect {
    /// Of values paired by round.
    pub(super) fn of_pairs(pairs: &[(f64, f64)], alpha: f64) -> Option<Self> {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let scale = scale_of(a.iter().chain(&b).copied());
        let differences: Vec<f64> = pairs.iter().map(|&(a, b)| on(scale, a, b)).collect();
        Self::new(scale, &a, &b, paired(&differences, alpha)?)
    }

    /// Of two samples that have nothing to do with each other.
    pub(super) fn of_samples(a: &[f64], b: &[f64], alpha: f64) -> Option<Self> {
        let scale = scale_of(a.iter().chain(b).copied());
        let scaled = |values: &[f64]| -> Vec<f64> {
            let origin = if scale == Scale::Ratio { 1.0 } else { 0.0 };
            values
                .iter()
                .map(|&value| on(scale, origin, value))
                .collect()
        };
        Self::new(scale, a, b, unpaired(&scaled(a), &scaled(b), alpha)?)
    }

    fn new(scale: Scale, a: &[f64], b: &[f64], shift: Shift) -> Option<Self> {
        Some(Self {
            scale,
            baseline_value: median(a)?,
            policy_value: median(b)?,
            estimate: shift.estimate,
            interval: shift.interval,
            p: shift.p,
            n: shift.n as u32,
        })
    }

    /// The threshold on the scale. For a ratio it is the same number of steps up and down: 1 %
    /// more is × 1.01, 1 % less is ÷ 1.01, so that swapping the arms swaps the answer. For a
    /// difference it is that share of the baseline's median: of a baseline of zero, nothing, and
    /// any difference counts.
    fn limit(&self, threshold: f64) -> f64 {
        match self.scale {
            Scale::Ratio => threshold.ln_1p(),
            Scale::Difference => threshold * self.baseline_value.abs(),
        }
    }

    /// What may be said, given the p-value after correction where a test is made.
    pub(super) fn change(&self, level: Level, p: Option<f64>) -> Change {
        let limit = self.limit(level.threshold);
        let significant = p.is_none_or(|p| p <= ALPHA);
        match self.interval {
            Some((low, _)) if low > limit && significant => Change::Higher,
            Some((_, high)) if high < -limit && significant => Change::Lower,
            Some((low, high)) if -limit <= low && high <= limit => Change::NoDifference,
            _ => Change::CannotTell,
        }
    }

    /// About how many more rounds until the interval is clear of the threshold or within it,
    /// if the estimate stays and the interval narrows with the square root of the rounds.
    /// `None` when that is more than ten thousand: it would not help.
    pub(super) fn more_rounds(&self, level: Level, p: Option<f64>) -> Option<u32> {
        let Some((low, high)) = self.interval else {
            return fewest_pairs(level.alpha())
                .checked_sub(self.n)
                .filter(|&more| more > 0);
        };
        let limit = self.limit(level.threshold);
        if low > limit || high < -limit {
            // Clear already: only the correction is missing, and each round halves the least p.
            let excess = p.unwrap_or(ALPHA) / ALPHA;
            return Some(excess.log2().ceil().max(1.0) as u32);
        }
        let gap = (self.estimate.abs() - limit).abs();
        let wing = (high - self.estimate).max(self.estimate - low);
        let needed = f64::from(self.n) * (wing / gap).powi(2);
        let more = needed.ceil() - f64::from(self.n);
        (more <= 10_000.0).then_some(more.max(1.0) as u32)
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

    fn effect(estimate: f64, low: f64, high: f64) -> Effect {
        Effect {
            scale: Scale::Ratio,
            baseline_value: 1.0,
            policy_value: 1.0,
            estimate,
            interval: Some((low, high)),
            p: 0.001,
            n: 10,
        }
    }

    const LEVEL: Level = Level {
        share: 1.0,
        threshold: 0.01,
    };

    #[test]
    fn a_change_needs_the_whole_interval_and_the_test() {
        let change = |low, high, p| effect((low + high) / 2.0, low, high).change(LEVEL, p);
        assert_eq!(change(0.02, 0.03, Some(0.01)), Change::Higher);
        assert_eq!(change(0.02, 0.03, None), Change::Higher);
        assert_eq!(change(0.02, 0.03, Some(0.2)), Change::CannotTell);
        assert_eq!(change(-0.03, -0.02, Some(0.01)), Change::Lower);
        assert_eq!(change(0.005, 0.03, Some(0.01)), Change::CannotTell);
        assert_eq!(change(-0.005, 0.009, Some(0.9)), Change::NoDifference);
        assert_eq!(change(0.002, 0.009, Some(0.001)), Change::NoDifference);
        assert_eq!(change(-0.03, 0.005, Some(0.3)), Change::CannotTell);
        assert_eq!(change(-0.03, 0.03, Some(0.9)), Change::CannotTell);
    }

    #[test]
    fn zero_is_a_baseline_like_any_other() {
        let pairs = [(0.0, 7.0); 12];
        let effect = Effect::of_pairs(&pairs, 0.05).expect("twelve pairs");
        assert_eq!((effect.scale, effect.estimate), (Scale::Difference, 7.0));
        assert_eq!(effect.change(LEVEL, Some(effect.p)), Change::Higher);
        let same = Effect::of_pairs(&[(0.0, 0.0); 12], 0.05).expect("twelve pairs");
        assert_eq!(same.change(LEVEL, Some(same.p)), Change::NoDifference);
    }

    #[test]
    fn more_rounds_grow_with_the_square_of_the_width() {
        // The wing is twice the gap of 0.02 to the threshold: four times the rounds, 30 more.
        let limit = LEVEL.threshold.ln_1p();
        let estimate = limit + 0.02;
        let wide = effect(estimate, estimate - 0.04, estimate + 0.04);
        let more = wide.more_rounds(LEVEL, Some(0.3)).expect("not hopeless");
        assert!((30..=31).contains(&more), "{more}");
        let few = Effect::of_pairs(&[(1.0, 1.1); 4], 0.05).expect("four pairs");
        assert_eq!(few.more_rounds(LEVEL, Some(few.p)), Some(2));
        assert_eq!(
            effect(limit, 0.0, 0.1).more_rounds(LEVEL, None),
            None,
            "never settles"
        );
    }
}
