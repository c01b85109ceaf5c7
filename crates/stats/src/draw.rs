//! The values of one block of runs, and the direction of an effect.

/// The values of one shuffled block, on the scale of the comparison. Neither arm is empty.
///
/// The type does not allocate: a decision goes through all blocks many times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    policy: Runs,
    baseline: Runs,
}

/// The values of one arm.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Runs {
    values: [f64; MOST_RUNS],
    count: usize,
}

/// The maximum of runs per arm in a block; further ones are ignored. No plan has as many.
pub const MOST_RUNS: usize = 4;

impl Draw {
    /// Returns a block of these runs in the order in which they ran; `None` if an arm has none.
    #[must_use]
    pub fn new(
        policy: impl IntoIterator<Item = f64>,
        baseline: impl IntoIterator<Item = f64>,
    ) -> Option<Self> {
        Some(Self {
            policy: Runs::of(policy)?,
            baseline: Runs::of(baseline)?,
        })
    }

    /// Returns a block of one run of each arm.
    #[must_use]
    pub fn pair(policy: f64, baseline: f64) -> Self {
        let run = |value| Runs {
            values: [value, 0.0, 0.0, 0.0],
            count: 1,
        };
        Self {
            policy: run(policy),
            baseline: run(baseline),
        }
    }

    /// Returns the runs of the policy.
    #[must_use]
    pub fn policies(&self) -> &[f64] {
        self.policy.values()
    }

    /// Returns the runs of the baseline.
    #[must_use]
    pub fn baselines(&self) -> &[f64] {
        self.baseline.values()
    }

    /// Returns the number of runs of both arms.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.policy.count + self.baseline.count
    }

    /// Returns the mean over the runs of the policy.
    #[must_use]
    pub fn policy_mean(&self) -> f64 {
        mean(self.policies())
    }

    /// Returns the mean over the runs of the baseline.
    #[must_use]
    pub fn baseline_mean(&self) -> f64 {
        mean(self.baselines())
    }

    /// Returns the mean of the policy less that of the baseline.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.policy_mean() - self.baseline_mean()
    }

    /// Applies `of` to each value.
    #[must_use]
    pub fn map(&self, of: impl Fn(f64) -> f64) -> Self {
        let each = |runs: Runs| {
            let mut values = runs.values;
            values[..runs.count]
                .iter_mut()
                .for_each(|value| *value = of(*value));
            Runs { values, ..runs }
        };
        Self {
            policy: each(self.policy),
            baseline: each(self.baseline),
        }
    }
}

impl Runs {
    /// Takes the first runs; `None` if there are none.
    fn of(runs: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values = [0.0; MOST_RUNS];
        let mut count = 0;
        for (place, run) in values.iter_mut().zip(runs) {
            *place = run;
            count += 1;
        }
        (count > 0).then_some(Self { values, count })
    }

    fn values(&self) -> &[f64] {
        &self.values[..self.count]
    }
}

/// Divides each value first, so that large ones do not overflow.
fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    values.iter().map(|value| value / n).sum()
}

/// The direction of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The effect is below the tested shift.
    Below,
    /// The effect is above it.
    Above,
}

impl Side {
    /// Both directions.
    pub const BOTH: [Self; 2] = [Self::Below, Self::Above];

    pub(crate) fn sign(self) -> f64 {
        match self {
            Self::Below => -1.0,
            Self::Above => 1.0,
        }
    }
}
