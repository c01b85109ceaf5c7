//! What metrics are compared on.

use crate::fleet::Sums;

/// What metrics are compared on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Logarithms: an effect is a factor.
    Log,
    /// As it is, where a mean is zero: an effect is a difference.
    Plain,
}

impl Scale {
    /// A mean on this scale. `None` without values.
    pub(super) fn of(self, sums: &Sums) -> Option<f64> {
        let mean = (sums.n > 0).then_some(sums.mean)?;
        Some(match self {
            Self::Log => mean.ln(),
            Self::Plain => mean,
        })
    }

    /// A difference on this scale as readers see it: of logarithms the share.
    #[must_use]
    pub fn share(self, difference: f64) -> f64 {
        match self {
            Self::Log => difference.exp_m1(),
            Self::Plain => difference,
        }
    }
}
