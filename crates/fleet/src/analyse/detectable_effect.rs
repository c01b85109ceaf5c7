//! The smallest effect that an experiment finds with a chance of 80 %.

use statrs::distribution::{Beta, ChiSquared, ContinuousCDF, Normal};

use super::estimate::Estimate;
use hugewise_base::bisect::{Precision, bisect};
use hugewise_experiment::run::stats::student::{Student, usable};

/// The probability of finding a detectable effect.
pub const POWER: f64 = 0.8;

/// The requirements of a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// The error that the look can spend.
    pub level: f64,
    /// The number of claims that Holm corrects together. The forecast assumes that no other claim is made.
    pub family: usize,
    /// Draws of the randomisation test.
    pub draws: u32,
}

/// The expected precision of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Standard error of its effect.
    pub error: f64,
    /// Degrees of freedom of the estimate of that error.
    pub known_by: f64,
    /// Degrees of freedom of the experiment's own error estimate.
    pub freedom: f64,
}

/// Another experiment of the same kind.
impl From<&Estimate> for Expected {
    fn from(estimate: &Estimate) -> Self {
        Self {
            error: estimate.error,
            known_by: estimate.freedom,
            freedom: estimate.freedom,
        }
    }
}

/// A distribution is represented by the midpoints of this many equal parts.
const PARTS: usize = 16;
/// Bisection steps, for a relative precision of 1/10,000.
const STEPS: u32 = 14;
/// Upper limit of the search, as a power of two in standard errors. No effect is detectable if it is too small.
const MOST_POWER: i32 = 19;

/// Returns the effect that the expected experiment finds with a probability of [`POWER`], on the scale of the values.
/// `None` if the draws cannot pass the bar.
///
/// Three random quantities enter: the observed effect, the standard error of the experiment, and the deviation of the
/// expected error from the true one. A fourth is the p-value by draws. Of m draws r − 1 can reach the effect, so a
/// claim is made as if its level were drawn from a Beta distribution (r, m − r + 1). Student's p-value represents
/// infinitely many draws, and is a separate bar.
#[must_use]
pub fn detectable(expected: impl Into<Expected>, bar: Bar) -> Option<f64> {
    let expected = expected.into();
    let chance = Chance::new(expected, bar)?;
    let is_found = |effect: f64| chance.of(effect) >= POWER;
    let high = (0..=MOST_POWER)
        .map(|power| 2_f64.powi(power))
        .find(|&effect| is_found(effect))?;
    let low = if high > 1.0 { high / 2.0 } else { 0.0 };
    let (_, high) = bisect(low, high, Precision::halvings(STEPS), is_found);
    Some(expected.error * high)
}

/// The forecast from pre-period values if the slope on them is still unknown. The slope takes one degree of freedom,
/// and if the values do not predict, it adds its own scatter.
#[must_use]
pub fn before_the_slope(past: Estimate) -> Estimate {
    let freedom = (past.freedom - 1.0).max(1.0);
    Estimate {
        freedom,
        error: past.error * (1.0 + 1.0 / freedom).sqrt(),
        ..past
    }
}

/// The probability of finding an effect, in estimated standard errors.
struct Chance {
    /// The smallest ratio of effect and error that is claimed.
    least: Vec<f64>,
    /// The expected error over the true one.
    known: Vec<f64>,
    /// The error that the experiment will estimate, over the true one.
    errors: Vec<f64>,
    normal: Normal,
}

impl Chance {
    fn new(expected: Expected, bar: Bar) -> Option<Self> {
        let level = bar.level / bar.family.max(1) as f64;
        let draws = f64::from(bar.draws);
        let reached = (level * (draws + 1.0) * (1.0 + 1e-9)).floor();
        let student = Student::new(expected.freedom)?;
        let levels = Beta::new(reached, draws + 1.0 - reached).ok()?;
        let least = |part| student.quantile(1.0 - levels.inverse_cdf(part).min(level) / 2.0);
        Some(Self {
            least: parts().map(least).collect(),
            known: errors(expected.known_by)?,
            errors: errors(expected.freedom)?,
            normal: Normal::standard(),
        })
    }

    fn of(&self, effect: f64) -> f64 {
        let mut sum = 0.0;
        for known in &self.known {
            for error in &self.errors {
                let above = |least: &f64| self.normal.cdf(effect * known - error * least);
                sum += self.least.iter().map(above).sum::<f64>();
            }
        }
        sum / (self.least.len() * self.known.len() * self.errors.len()) as f64
    }
}

/// Quantiles of the estimated error, if the true one is 1.
fn errors(freedom: f64) -> Option<Vec<f64>> {
    let freedom = usable(freedom)?;
    let squares = ChiSquared::new(freedom).ok()?;
    let error = |part| (squares.inverse_cdf(part) / freedom).sqrt();
    Some(parts().map(error).collect())
}

fn parts() -> impl Iterator<Item = f64> {
    (0..PARTS).map(|part| (part as f64 + 0.5) / PARTS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(freedom: f64) -> Estimate {
        Estimate {
            effect: 0.0,
            error: 0.1,
            freedom,
            slope: 0.0,
            design_effect: 1.0,
            units: [40, 40],
            left_out: 0,
        }
    }

    fn of(freedom: f64, family: usize, draws: u32) -> f64 {
        let bar = Bar {
            level: 0.05,
            family,
            draws,
        };
        detectable(&estimate(freedom), bar).unwrap_or(f64::INFINITY)
    }

    /// With a known error and infinitely many draws, the result is the textbook one: 1.96 + 0.84 errors.
    #[test]
    fn with_much_data_it_is_the_textbooks() {
        let known = of(1e6, 1, 99_999);
        assert!((known / 0.1 - 2.802).abs() < 0.01, "{known}");
        // Bonferroni with eight claims: 2.734 + 0.842.
        let eight = of(1e6, 8, 99_999);
        assert!((eight / 0.1 - 3.576).abs() < 0.02, "{eight}");
    }

    #[test]
    fn little_data_few_draws_and_many_claims_cost() {
        assert!(of(10.0, 1, 999) > 1.05 * of(100.0, 1, 999));
        assert!(of(100.0, 1, 199) > 1.005 * of(100.0, 1, 9_999));
        assert!(of(100.0, 8, 999) > 1.2 * of(100.0, 1, 999));
        // Nine draws give no p-value below 10 %.
        assert!(of(100.0, 1, 9).is_infinite());
    }
}
