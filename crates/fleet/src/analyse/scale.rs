//! The scale on which metrics are compared.

use serde::Serialize;
use strum::IntoStaticStr;

use crate::Sums;

/// The scale on which a metric is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Scale {
    /// Logarithms: an effect is a factor.
    Log,
    /// Unchanged, if a mean is zero: an effect is a difference.
    Plain,
    /// Unchanged, for a share from 0 to 1: an effect is a difference, and 0.01 is one percentage point. The factor of a
    /// share near zero is not meaningful.
    Share,
}

/// The suffix of the name of a share, as in Prometheus.
const SHARE: &str = "_ratio";

impl Scale {
    /// Chooses the scale of a metric from its name and all compared means.
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

    /// Converts a difference on this scale for readers: a difference of logarithms becomes a share.
    #[must_use]
    pub fn change(self, difference: f64) -> f64 {
        match self {
            Self::Log => difference.exp_m1(),
            Self::Plain | Self::Share => difference,
        }
    }
}
