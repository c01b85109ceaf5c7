//! What metrics are compared on.

use serde::Serialize;
use strum::IntoStaticStr;

use crate::Sums;

/// What metrics are compared on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Scale {
    /// Logarithms: an effect is a factor.
    Log,
    /// As it is, where a mean is zero: an effect is a difference.
    Plain,
    /// As it is, of a share from 0 to 1: an effect is a difference, of which 0.01 is one percentage
    /// point. The factor of a share that is nearly zero says little.
    Share,
}

/// What the name of a share ends with, as Prometheus has it.
const SHARE: &str = "_ratio";

impl Scale {
    /// That of a metric, of which these are all means that are compared.
    pub(super) fn of_metric(name: &str, mut means: impl Iterator<Item = Sums>) -> Self {
        if name.ends_with(SHARE) {
            return Self::Share;
        }
        match means.all(|sums| sums.n == 0 || sums.mean > 0.0) {
            true => Self::Log,
            false => Self::Plain,
        }
    }

    /// A mean on this scale. `None` without values.
    pub(super) fn of(self, sums: &Sums) -> Option<f64> {
        let mean = (sums.n > 0).then_some(sums.mean)?;
        Some(match self {
            Self::Log => mean.ln(),
            Self::Plain | Self::Share => mean,
        })
    }

    /// A difference on this scale as readers see it: of logarithms the change as a share.
    #[must_use]
    pub fn change(self, difference: f64) -> f64 {
        match self {
            Self::Log => difference.exp_m1(),
            Self::Plain | Self::Share => difference,
        }
    }
}
