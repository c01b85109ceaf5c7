//! Values of independent units, such as sessions, boots or starts of a server: one value per unit, on a scale of equal
//! scatter.
//!
//! Within a unit many runs can agree closely and still differ from the next unit, so runs are not a sample of the
//! behaviour of other units. The intervals are Student's.

use crate::ALPHA;
use crate::student::Student;

/// The fewest units whose scatter is known well enough for an interval.
pub const FEWEST_UNITS: usize = 3;
/// The forecast adds units until the interval is this much narrower than the effect: then seven of ten experiments
/// exclude zero.
const NARROWER: f64 = 1.3;
/// The limit of the forecast.
const MOST_UNITS: u32 = 1000;

/// A summary of the values of units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units {
    /// How many.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
}

/// The difference between two groups of units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The mean of the second group less that of the first.
    pub estimate: f64,
    /// The interval at 1 − the requested error.
    pub interval: (f64, f64),
    /// The two-sided p-value.
    pub p: f64,
}

impl Units {
    /// Returns a summary of these values; `None` if there are fewer than [`FEWEST_UNITS`] or one is not a number.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|value| (value - mean).powi(2));
        let deviation = (squares.sum::<f64>() / (n - 1.0)).sqrt();
        (values.len() >= FEWEST_UNITS && deviation.is_finite()).then_some(Self {
            count: values.len(),
            mean,
            deviation,
        })
    }

    /// Returns the interval of the mean of all units, treating these as a sample.
    #[must_use]
    pub fn of_mean(&self, alpha: f64) -> (f64, f64) {
        self.around(self.quantile(self.count, alpha) * self.error())
    }

    /// Returns the interval that contains the value of the next unit, with a chance of 1 − `alpha`.
    #[must_use]
    pub fn next(&self, alpha: f64) -> (f64, f64) {
        let spread = self.deviation * (1.0 + 1.0 / self.count as f64).sqrt();
        self.around(self.quantile(self.count, alpha) * spread)
    }

    /// Returns the difference of another group from this one, by Welch's test: the scatter of the groups can differ.
    #[must_use]
    pub fn to(&self, other: &Self, alpha: f64) -> Option<Difference> {
        let squares = [self, other].map(|it| it.error().powi(2));
        let error = (squares[0] + squares[1]).sqrt();
        let estimate = other.mean - self.mean;
        if error == 0.0 {
            let p = if estimate == 0.0 { 1.0 } else { 0.0 };
            return Some(Difference {
                estimate,
                interval: (estimate, estimate),
                p,
            });
        }
        // One of the errors can be zero, but not both.
        let parts = [self, other].map(|it| it.count as f64 - 1.0);
        let shares = squares.iter().zip(parts);
        let shares = shares.map(|(square, part)| (square / error.powi(2)).powi(2) / part);
        let student = Student::new(1.0 / shares.sum::<f64>())?;
        let half = student.quantile(1.0 - alpha / 2.0) * error;
        Some(Difference {
            estimate,
            interval: (estimate - half, estimate + half),
            p: 2.0 * student.above((estimate / error).abs()),
        })
    }

    /// Returns the total number of units needed to show the direction, if the next ones are like these; `None` if a
    /// thousand are too few.
    #[must_use]
    pub fn needed(&self, alpha: f64) -> Option<u32> {
        let is_enough = |count: &u32| {
            let error = self.deviation / f64::from(*count).sqrt();
            NARROWER * self.quantile(*count as usize, alpha) * error < self.mean.abs()
        };
        (self.count as u32..=MOST_UNITS).find(is_enough)
    }

    fn error(&self) -> f64 {
        self.deviation / (self.count as f64).sqrt()
    }

    fn around(&self, half: f64) -> (f64, f64) {
        (self.mean - half, self.mean + half)
    }

    fn quantile(&self, count: usize, alpha: f64) -> f64 {
        let student = Student::new(count as f64 - 1.0);
        student.map_or(f64::INFINITY, |it| it.quantile(1.0 - alpha / 2.0))
    }
}

/// Returns true if an interval leaves out zero.
#[must_use]
pub fn excludes_zero((low, high): (f64, f64)) -> bool {
    low > 0.0 || high < 0.0
}

impl Difference {
    /// Returns true if the groups were shown to differ.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.p <= ALPHA && excludes_zero(self.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: (f64, f64), other: (f64, f64)) -> bool {
        (one.0 - other.0).abs() < 5e-4 && (one.1 - other.1).abs() < 5e-4
    }

    #[test]
    fn intervals_are_those_of_the_textbook() {
        assert_eq!(Units::of(&[1.0, 2.0]), None);
        assert_eq!(Units::of(&[1.0, 2.0, f64::NAN]), None);
        // Mean 2, deviation 1, and Student's 4.3027 with two degrees of freedom.
        let three = Units::of(&[1.0, 2.0, 3.0]).expect("three");
        let half = 4.302_65 / 3_f64.sqrt();
        assert!(near(three.of_mean(0.05), (2.0 - half, 2.0 + half)));
        let half = 4.302_65 * (4.0_f64 / 3.0).sqrt();
        assert!(near(three.next(0.05), (2.0 - half, 2.0 + half)));
    }

    /// Student's sleep (1908), as R prints it for `t.test(extra ~ group, data = sleep)`: 17.776 degrees of freedom,
    /// −3.3654832 to 0.2054832, p = 0.07939.
    #[test]
    fn a_difference_is_that_of_r() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let of = |values: &[f64]| Units::of(values).expect("ten");
        let found = of(&first).to(&of(&second), 0.05).expect("a test");
        assert!(near(found.interval, (-0.205_483, 3.365_483)), "{found:?}");
        assert!((found.p - 0.079_39).abs() < 5e-5, "{found:?}");
        assert!(!found.is_shown());
        let alike = of(&[1.0; 3]).to(&of(&[2.0; 4]), 0.05).expect("a test");
        assert_eq!((alike.interval, alike.p), ((1.0, 1.0), 0.0));
    }

    #[test]
    fn the_next_unit_lies_in_its_interval_as_often_as_promised() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let held = (0..4000).filter(|_| {
            let known: Vec<f64> = (0..4).map(|_| normal()).collect();
            let (low, high) = Units::of(&known).expect("four").next(0.05);
            (low..=high).contains(&normal())
        });
        // 95 % of 4,000 are 3,800; four standard deviations are 55.
        let held = held.count();
        assert!((3745..=3855).contains(&held), "{held}");
    }

    #[test]
    fn units_are_foretold_where_they_would_tell() {
        let units = Units::of(&[0.02, 0.06, 0.04]).expect("three");
        let needed = units.needed(0.05).expect("few");
        // 1.3 × 2.776 × 0.02 ÷ √5 = 0.0323 is below 0.04; with four 1.3 × 3.182 × 0.01 = 0.0414 is not.
        assert_eq!(needed, 5);
        assert_eq!(
            Units::of(&[1.0, -1.0, 0.0]).expect("three").needed(0.05),
            None
        );
        assert_eq!(Units::of(&[1.0; 3]).expect("three").needed(0.05), Some(3));
    }
}
