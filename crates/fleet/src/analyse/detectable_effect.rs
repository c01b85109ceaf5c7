//! The smallest effect that an experiment finds with a chance of 80 %.

use statrs::distribution::{Beta, ChiSquared, ContinuousCDF, Normal};

use super::estimate::Estimate;
use hugewise_base::bisect::{Precision, bisect};
use hugewise_experiment::run::stats::student::{Student, usable};

/// The chance with which a detectable effect is found.
pub const POWER: f64 = 0.8;

/// What a claim must pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// The error that the look may make.
    pub level: f64,
    /// Claims that Holm corrects for one another: the forecast takes it that no other is made.
    pub family: usize,
    /// Draws of the randomisation test.
    pub draws: u32,
}

/// What is known beforehand of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Standard error of its effect.
    pub error: f64,
    /// Degrees of freedom of what gave that error.
    pub known_by: f64,
    /// Degrees of freedom of the error by which the experiment itself will be judged.
    pub freedom: f64,
}

/// Another such experiment.
impl From<&Estimate> for Expected {
    fn from(estimate: &Estimate) -> Self {
        Self {
            error: estimate.error,
            known_by: estimate.freedom,
            freedom: estimate.freedom,
        }
    }
}

/// Midpoints of so many equal parts stand for a distribution.
const PARTS: usize = 16;
/// Halvings until the effect is known to a ten-thousandth.
const STEPS: u32 = 14;
/// No effect has more errors than two to this power: there is no chance then.
const MOST_POWER: i32 = 19;

/// The effect on the scale of the values that is found with a chance of [`POWER`] in the experiment
/// that is expected. `None` where the draws cannot pass the bar.
///
/// It reckons with three things that chance moves: the effect that will be seen, the error by which
/// it will be judged, and the error of what is expected, from which the true one differs. A fourth
/// is the p-value by draws: of m draws r − 1 may reach the effect, so that a claim is made as if its
/// level were drawn from a Beta distribution (r, m − r + 1). Student's p-value stands for that of
/// endless draws, and is a bar of its own.
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

/// What the past says of an experiment whose slope on the past is not known yet: it takes one degree of
/// freedom, and where the past tells nothing it adds its own scatter.
#[must_use]
pub fn before_the_slope(past: Estimate) -> Estimate {
    let freedom = (past.freedom - 1.0).max(1.0);
    Estimate {
        freedom,
        error: past.error * (1.0 + 1.0 / freedom).sqrt(),
        ..past
    }
}

/// The chance to find an effect of so many estimated errors.
struct Chance {
    /// Of the ratio of effect and error, the least that is claimed.
    least: Vec<f64>,
    /// The error that is expected, over the true one.
    known: Vec<f64>,
    /// The error that the experiment will find, over the true one.
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

/// Errors that chance gives where the true one is 1.
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

    /// With an error that is known and draws without end it is the textbook's: 1.96 + 0.84 errors.
    #[test]
    fn with_much_data_it_is_the_textbooks() {
        let known = of(1e6, 1, 99_999);
        assert!((known / 0.1 - 2.802).abs() < 0.01, "{known}");
        // Bonferroni of eight: 2.734 + 0.842.
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
