//! The stratified difference of two arms, with the units' own past taken out.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The units of two arms and one metric, as columns of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Index of the unit among all units.
    pub unit: Vec<usize>,
    /// Whether the unit has the treated arm.
    pub treated: Vec<bool>,
    /// What is compared: the unit's mean, on the scale of the metric.
    pub value: Vec<f64>,
    /// The same of the unit's own past, where it has one.
    pub past: Vec<Option<f64>>,
    /// Index of the unit's stratum.
    pub stratum: Vec<usize>,
    /// Index of the unit's cluster.
    pub cluster: Vec<usize>,
}

/// A difference of two arms, treated less control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The difference, on the scale of the values.
    pub effect: f64,
    /// Its standard error, by clusters.
    pub error: f64,
    /// Degrees of freedom after Satterthwaite.
    pub freedom: f64,
    /// Slope of the values on the past; zero without one.
    pub slope: f64,
    /// The variance by clusters over the variance that independent units would have.
    pub design_effect: f64,
    /// Treated and control units that are compared.
    pub units: [usize; 2],
    /// Units whose stratum has fewer than two clusters in one of the arms: nothing is compared
    /// with them.
    pub left_out: usize,
}

/// Sums of one arm within one stratum.
#[derive(Clone, Debug, Default)]
struct Cell {
    units: Vec<usize>,
    clusters: Vec<usize>,
    value: f64,
}

impl Sample {
    /// The estimate under the sample's own arms. `None` where no stratum has two clusters in
    /// both arms.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate_of(&self.treated, &self.whole_past())
    }

    /// The same under other arms, as a randomisation test asks, with the past of
    /// [`whole_past`](Self::whole_past), which no arm changes.
    pub(super) fn estimate_of(&self, treated: &[bool], past: &[f64]) -> Option<Estimate> {
        let mut strata = self.strata(treated);
        let all = self.value.len();
        strata.retain(|_, cells| cells.iter().all(|cell| cell.clusters.len() >= 2));
        let slope = self.slope(&strata, past);
        let adjusted: Vec<f64> = (0..all)
            .map(|unit| slope.mul_add(-past[unit], self.value[unit]))
            .collect();
        for cells in strata.values_mut() {
            for cell in cells {
                cell.value = mean(&cell.units, &adjusted);
            }
        }
        self.difference(&strata, &adjusted, slope)
    }

    /// Control first, then treated, of each stratum.
    fn strata(&self, treated: &[bool]) -> BTreeMap<usize, [Cell; 2]> {
        let mut strata: BTreeMap<usize, [Cell; 2]> = BTreeMap::new();
        for (unit, &treated) in treated.iter().enumerate() {
            let cell = &mut strata.entry(self.stratum[unit]).or_default()[usize::from(treated)];
            cell.units.push(unit);
            cell.clusters.push(self.cluster[unit]);
        }
        for cell in strata.values_mut().flatten() {
            cell.clusters.sort_unstable();
            cell.clusters.dedup();
        }
        strata
    }

    /// The past, where a unit without one has the mean of its stratum: it is older than any arm,
    /// so that it is the same whatever the arms do.
    pub(super) fn whole_past(&self) -> Vec<f64> {
        let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (past, stratum) in self.past.iter().zip(&self.stratum) {
            if let Some(past) = past {
                let sum = sums.entry(*stratum).or_default();
                *sum = (sum.0 + past, sum.1 + 1.0);
            }
        }
        let middle = |stratum| sums.get(stratum).map_or(0.0, |(sum, n)| sum / n);
        let of = |(past, stratum): (&Option<f64>, _)| past.unwrap_or_else(|| middle(stratum));
        self.past.iter().zip(&self.stratum).map(of).collect()
    }

    /// Slope of the values on the past within strata and arms.
    fn slope(&self, strata: &BTreeMap<usize, [Cell; 2]>, past: &[f64]) -> f64 {
        let (mut both, mut alone) = (0.0, 0.0);
        for cell in strata.values().flatten() {
            let (x, y) = (mean(&cell.units, past), mean(&cell.units, &self.value));
            for &unit in &cell.units {
                both += (past[unit] - x) * (self.value[unit] - y);
                alone += (past[unit] - x).powi(2);
            }
        }
        if alone > 0.0 { both / alone } else { 0.0 }
    }

    fn difference(
        &self,
        strata: &BTreeMap<usize, [Cell; 2]>,
        adjusted: &[f64],
        slope: f64,
    ) -> Option<Estimate> {
        let count = |arm: usize| -> usize { strata.values().map(|it| it[arm].units.len()).sum() };
        let units = [count(1), count(0)];
        let total = (units[0] + units[1]) as f64;
        let mut sum = Parts::default();
        for cells in strata.values() {
            let weight = (cells[0].units.len() + cells[1].units.len()) as f64 / total;
            sum.effect += weight * (cells[1].value - cells[0].value);
            self.add_variance(&mut sum, cells, weight, adjusted);
        }
        let freedom = sum.variance.powi(2) / sum.squares - f64::from(u8::from(slope != 0.0));
        let estimate = Estimate {
            effect: sum.effect,
            error: sum.variance.sqrt(),
            freedom: freedom.max(1.0),
            slope,
            design_effect: sum.variance / sum.independent,
            units,
            left_out: self.value.len() - units[0] - units[1],
        };
        (total > 0.0 && sum.variance > 0.0).then_some(estimate)
    }

    /// Neyman's variance, with the residuals of a cluster added up before they are squared. A
    /// cluster that has both arms keeps the sign of each, so that what it shares cancels.
    fn add_variance(&self, sum: &mut Parts, cells: &[Cell; 2], weight: f64, adjusted: &[f64]) {
        let mut by_cluster: BTreeMap<usize, [f64; 2]> = BTreeMap::new();
        for (arm, cell) in cells.iter().enumerate() {
            let (n, groups) = (cell.units.len() as f64, cell.clusters.len() as f64);
            let scale = weight * (groups / (groups - 1.0)).sqrt() / n;
            let alone = weight * (n / (n - 1.0)).sqrt() / n;
            for &unit in &cell.units {
                let residual = adjusted[unit] - cell.value;
                by_cluster.entry(self.cluster[unit]).or_default()[arm] += scale * residual;
                sum.independent += (alone * residual).powi(2);
            }
        }
        let of_arms: usize = cells.iter().map(|cell| cell.clusters.len()).sum();
        if by_cluster.len() == of_arms {
            for (arm, cell) in cells.iter().enumerate() {
                let variance = by_cluster.values().map(|it| it[arm].powi(2)).sum();
                sum.add(variance, cell.clusters.len());
            }
            return;
        }
        let variance = by_cluster.values().map(|it| (it[1] - it[0]).powi(2)).sum();
        let fewest = cells.iter().map(|cell| cell.clusters.len()).min();
        sum.add(variance, fewest.unwrap_or(2));
    }
}

#[derive(Default)]
struct Parts {
    effect: f64,
    variance: f64,
    /// Squares of the parts of the variance over their degrees of freedom.
    squares: f64,
    independent: f64,
}

impl Parts {
    fn add(&mut self, variance: f64, clusters: usize) {
        self.variance += variance;
        self.squares += variance * variance / (clusters as f64 - 1.0);
    }
}

fn mean(units: &[usize], values: &[f64]) -> f64 {
    units.iter().map(|&unit| values[unit]).sum::<f64>() / units.len() as f64
}

impl Estimate {
    /// The interval at level 1 − `alpha`, by Student's distribution.
    #[must_use]
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        interval([self.effect, self.error, self.freedom], alpha)
    }

    /// Two-sided p-value of no effect.
    #[must_use]
    pub fn p(&self) -> f64 {
        2.0 * self.above((self.effect / self.error).abs())
    }

    /// One-sided p-value of no increase.
    #[must_use]
    pub fn p_increase(&self) -> f64 {
        self.above(self.effect / self.error)
    }

    /// The effect that would be found with a chance of 80 % at level `alpha`.
    #[must_use]
    pub fn detectable(&self, alpha: f64) -> f64 {
        self.error * (quantile(self.freedom, 1.0 - alpha / 2.0) + quantile(self.freedom, POWER))
    }

    fn above(&self, t: f64) -> f64 {
        StudentsT::new(0.0, 1.0, self.freedom).map_or(1.0, |student| student.sf(t))
    }
}

/// The interval of an effect with its error and degrees of freedom at level 1 − `alpha`, by
/// Student's distribution.
pub(super) fn interval([effect, error, freedom]: [f64; 3], alpha: f64) -> (f64, f64) {
    let radius = error * quantile(freedom, 1.0 - alpha / 2.0);
    (effect - radius, effect + radius)
}

fn quantile(freedom: f64, level: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom);
    student.map_or(f64::INFINITY, |student| student.inverse_cdf(level))
}

/// The chance with which a detectable effect is found.
pub const POWER: f64 = 0.8;

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rows: &[(bool, f64, Option<f64>, usize, usize)]) -> Sample {
        let mut sample = Sample::default();
        for &(treated, value, past, stratum, cluster) in rows {
            sample.unit.push(sample.unit.len());
            sample.treated.push(treated);
            sample.value.push(value);
            sample.past.push(past);
            sample.stratum.push(stratum);
            sample.cluster.push(cluster);
        }
        sample
    }

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-12, "{got} is not {want}");
    }

    /// Welch's example by hand: variances 1 and 7/3 over three and four units.
    #[test]
    fn one_stratum_of_single_units_is_welch() {
        let values = [(true, 5.0), (true, 6.0), (true, 7.0)];
        let controls = [(false, 1.0), (false, 2.0), (false, 3.0), (false, 4.0)];
        let rows = values.iter().chain(&controls).enumerate();
        let rows: Vec<_> = rows.map(|(at, &(t, v))| (t, v, None, 0, at)).collect();
        let estimate = sample(&rows).estimate().expect("two arms");
        let (a, b) = (1.0 / 3.0, (5.0 / 3.0) / 4.0);
        close(estimate.effect, 3.5);
        close(estimate.error, f64::sqrt(a + b));
        close(
            estimate.freedom,
            (a + b).powi(2) / (a * a / 2.0 + b * b / 3.0),
        );
        close(estimate.design_effect, 1.0);
        close(estimate.slope, 0.0);
    }

    #[test]
    fn a_past_that_says_everything_but_the_effect_leaves_the_effect() {
        let rows: Vec<_> = (0..20)
            .map(|at| {
                let past = f64::from(at % 7) * 3.0;
                let noise = if at % 4 < 2 { 1e-3 } else { -1e-3 };
                let treated = at % 2 == 0;
                let value = past + f64::from(u8::from(treated)) + noise;
                (
                    treated,
                    value,
                    Some(past),
                    0,
                    usize::try_from(at).unwrap_or(0),
                )
            })
            .collect();
        let estimate = sample(&rows).estimate().expect("two arms");
        assert!((estimate.effect - 1.0).abs() < 0.01, "{estimate:?}");
        assert!(estimate.error < 0.01, "{estimate:?}");
    }

    /// Copies of one unit in one cluster say nothing new.
    #[test]
    fn copies_within_a_cluster_do_not_narrow_the_interval() {
        let once: Vec<_> = (0..12)
            .map(|at| (at % 2 == 0, f64::from(at * at % 11), None, 0, at as usize))
            .collect();
        let thrice: Vec<_> = once.iter().flat_map(|row| [*row; 3]).collect();
        let (once, thrice) = (sample(&once).estimate(), sample(&thrice).estimate());
        let (once, thrice) = (once.expect("arms"), thrice.expect("arms"));
        close(thrice.error, once.error);
        close(thrice.freedom, once.freedom);
        assert!(thrice.design_effect > 2.5, "{thrice:?}");
    }

    #[test]
    fn what_a_cluster_of_both_arms_shares_cancels() {
        let rows: Vec<_> = (0..10)
            .flat_map(|host| {
                let shared = f64::from(host * 37 % 10);
                let own = f64::from(host * host % 3) * 0.01;
                let cluster = host as usize;
                [
                    (true, shared + 1.0 + own, None, 0, cluster),
                    (false, shared, None, 0, cluster),
                ]
            })
            .collect();
        let estimate = sample(&rows).estimate().expect("two arms");
        assert!((estimate.effect - 1.0).abs() < 0.02, "{estimate:?}");
        assert!(estimate.design_effect < 0.01, "{estimate:?}");
    }

    #[test]
    fn a_stratum_with_one_arm_is_left_out_and_counted() {
        let mut rows: Vec<_> = (0..8)
            .map(|at| (at % 2 == 0, f64::from(at), None, 0, at as usize))
            .collect();
        rows.push((true, 1000.0, None, 1, 8));
        let estimate = sample(&rows).estimate().expect("a stratum");
        assert_eq!((estimate.left_out, estimate.units), (1, [4, 4]));
        close(estimate.effect, -1.0);
        assert!(sample(&rows[8..]).estimate().is_none());
    }
}
