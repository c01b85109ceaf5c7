//! The values of one block of runs, and the side on which an effect lies.

/// The values that the shuffle dealt in one block, on the scale of the comparison. Neither arm is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    policy: Vec<f64>,
    baseline: Vec<f64>,
}

/// Runs of one arm that a block uses; further ones are left out. No plan has as many.
pub const MOST_RUNS: usize = 4;

impl Draw {
    /// Returns a block of these runs in the order in which they ran; `None` if an arm has none.
    #[must_use]
    pub fn new(mut policy: Vec<f64>, mut baseline: Vec<f64>) -> Option<Self> {
        policy.truncate(MOST_RUNS);
        baseline.truncate(MOST_RUNS);
        (!policy.is_empty() && !baseline.is_empty()).then_some(Self { policy, baseline })
    }

    /// Returns a block of one run of each arm.
    #[must_use]
    pub fn pair(policy: f64, baseline: f64) -> Self {
        Self {
            policy: vec![policy],
            baseline: vec![baseline],
        }
    }

    /// The runs of the policy.
    #[must_use]
    pub fn policies(&self) -> &[f64] {
        &self.policy
    }

    /// The runs of the baseline.
    #[must_use]
    pub fn baselines(&self) -> &[f64] {
        &self.baseline
    }

    /// The number of runs of both arms.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.policy.len() + self.baseline.len()
    }

    /// The mean over the runs of the policy.
    #[must_use]
    pub fn policy_mean(&self) -> f64 {
        mean(&self.policy)
    }

    /// The mean over the runs of the baseline.
    #[must_use]
    pub fn baseline_mean(&self) -> f64 {
        mean(&self.baseline)
    }

    /// The mean of the policy less that of the baseline.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.policy_mean() - self.baseline_mean()
    }

    /// Returns the block with `of` applied to each value.
    #[must_use]
    pub fn map(&self, of: impl Fn(f64) -> f64) -> Self {
        let each = |values: &[f64]| values.iter().map(|&value| of(value)).collect();
        Self {
            policy: each(&self.policy),
            baseline: each(&self.baseline),
        }
    }
}

/// Each value is divided first, so that large ones do not overflow.
fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    values.iter().map(|value| value / n).sum()
}

/// The direction of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The effect lies below the tested shift.
    Below,
    /// The effect lies above it.
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
