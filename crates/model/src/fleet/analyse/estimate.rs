//! The effect of an arm on one metric: a stratified difference, adjusted by each unit's own past.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// One unit, or the units of one arm in one cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Index of the stratum.
    pub(super) stratum: usize,
    /// Whether it is under the arm, and not under the control.
    pub(super) treated: bool,
    /// Its value under the arm.
    pub(super) value: f64,
}

/// A difference of means with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) mean: f64,
    /// Standard error.
    pub(super) error: f64,
    /// Degrees of freedom (Satterthwaite).
    pub(super) freedom: f64,
}

/// Mean and scatter of one arm in one stratum.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    n: f64,
    mean: f64,
    m2: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.n += 1.0;
        let away = value - self.mean;
        self.mean += away / self.n;
        self.m2 += away * (value - self.mean);
    }

    /// Variance of the mean.
    fn variance(self) -> f64 {
        self.m2 / (self.n - 1.0) / self.n
    }
}

impl Difference {
    /// The treated less the control, each stratum by its number of units. The variance is
    /// Neyman's, which errs to the safe side. Strata with fewer than two units in an arm say
    /// nothing of their scatter and are left out; `None` where all are.
    pub(super) fn of(points: &[Point]) -> Option<Self> {
        let mut strata = BTreeMap::<usize, [Moments; 2]>::new();
        for point in points {
            let arms = strata.entry(point.stratum).or_default();
            arms[usize::from(point.treated)].add(point.value);
        }
        strata.retain(|_, arms| arms.iter().all(|it| it.n >= 2.0));
        let whole: f64 = strata.values().flatten().map(|it| it.n).sum();
        let (mut mean, mut variance, mut fourth) = (0.0, 0.0, 0.0);
        for [control, treated] in strata.values() {
            let weight = (control.n + treated.n) / whole;
            mean += weight * (treated.mean - control.mean);
            for arm in [control, treated] {
                let part = weight * weight * arm.variance();
                variance += part;
                fourth += part * part / (arm.n - 1.0);
            }
        }
        (variance > 0.0).then(|| Self {
            mean,
            error: variance.sqrt(),
            freedom: variance * variance / fourth,
        })
    }

    /// Two-sided p-value of no difference.
    pub(super) fn p(self) -> f64 {
        let t = self.student();
        2.0 * t.sf((self.mean / self.error).abs())
    }

    /// Half the width of the interval at level 1 − `alpha`.
    pub(super) fn radius(self, alpha: f64) -> f64 {
        self.error * self.student().inverse_cdf(1.0 - alpha / 2.0)
    }

    /// The smallest true difference that is found at level `alpha` in 80 of 100 experiments.
    pub(super) fn detectable(self, alpha: f64) -> f64 {
        self.radius(alpha) + self.error * self.student().inverse_cdf(0.8)
    }

    fn student(self) -> StudentsT {
        StudentsT::new(0.0, 1.0, self.freedom.max(1.0)).expect("at least one degree of freedom")
    }
}

/// Takes out of each value what the unit's own past foretells (CUPED: Deng, Xu, Kohavi and
/// Walker, 2013), and gives the share of the variance within strata that is left.
///
/// The slope is that of all units together, whatever their arm: then it is the same for every
/// assignment that chance could have made, and the randomisation test stays exact.
pub(super) fn adjust(points: &mut [Point], past: &[f64]) -> f64 {
    let mut means = BTreeMap::<usize, (f64, f64, f64)>::new();
    for (point, x) in points.iter().zip(past) {
        let (n, of_past, of_value) = means.entry(point.stratum).or_default();
        *n += 1.0;
        *of_past += x;
        *of_value += point.value;
    }
    let away = |point: &Point, x: f64| {
        let (n, of_past, of_value) = means[&point.stratum];
        (x - of_past / n, point.value - of_value / n)
    };
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (point, x) in points.iter().zip(past) {
        let (x, y) = away(point, *x);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    if xx <= 0.0 || yy <= 0.0 {
        return 1.0;
    }
    let slope = xy / xx;
    let shifts: Vec<f64> = points
        .iter()
        .zip(past)
        .map(|(it, x)| away(it, *x).0)
        .collect();
    for (point, shift) in points.iter_mut().zip(shifts) {
        point.value -= slope * shift;
    }
    1.0 - xy * xy / (xx * yy)
}
