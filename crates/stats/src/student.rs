//! Student's distribution with checked arguments: the searches of statrs do not end if a parameter or a value is not a
//! number.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Beyond these degrees of freedom no printed digit changes, and the searches of statrs stop converging. Every sample
/// has at least the lower bound.
const FREEDOM: std::ops::RangeInclusive<f64> = 0.5..=1e6;

/// Student's distribution with the given degrees of freedom.
#[derive(Clone, Copy, Debug)]
pub struct Student(StudentsT);

impl Student {
    /// Returns the distribution; `None` if the degrees of freedom are not a number or impossible for a sample.
    #[must_use]
    pub fn new(freedom: f64) -> Option<Self> {
        StudentsT::new(0.0, 1.0, usable(freedom)?).ok().map(Self)
    }

    /// Returns the value that the share `level` does not exceed; infinity if the level is not a share.
    #[must_use]
    pub fn quantile(&self, level: f64) -> f64 {
        match (0.0..1.0).contains(&level) {
            true => self.0.inverse_cdf(level),
            false => f64::INFINITY,
        }
    }

    /// Returns the share above `t`: 1 if `t` is not a number, which shows nothing.
    #[must_use]
    pub fn above(&self, t: f64) -> f64 {
        match t {
            f64::INFINITY => 0.0,
            _ if t.is_finite() => self.0.sf(t),
            _ => 1.0,
        }
    }
}

/// Returns degrees of freedom for which the searches end.
#[must_use]
pub fn usable(freedom: f64) -> Option<f64> {
    (freedom >= *FREEDOM.start()).then(|| freedom.min(*FREEDOM.end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        for (freedom, t) in [(1.0, 12.706), (10.0, 2.228), (1e300, 1.960)] {
            let student = Student::new(freedom).expect("degrees of freedom");
            assert!((student.quantile(0.975) - t).abs() < 5e-4, "{freedom}");
            assert!((student.above(t) - 0.025).abs() < 5e-5, "{freedom}");
        }
    }

    #[test]
    fn what_is_no_number_shows_nothing() {
        for freedom in [f64::NAN, 0.0, -1.0, 5e-324, f64::NEG_INFINITY] {
            assert!(Student::new(freedom).is_none(), "{freedom}");
        }
        let student = Student::new(3.0).expect("three");
        let of = [f64::NAN, f64::NEG_INFINITY, f64::INFINITY].map(|t| student.above(t));
        assert_eq!(of, [1.0, 1.0, 0.0]);
        let of = [f64::NAN, 1.0, 1e308].map(|level| student.quantile(level));
        assert_eq!(of, [f64::INFINITY; 3]);
    }
}
