//! The stratified difference of two arms, adjusted for the pre-period values of the units.

use std::collections::BTreeMap;

use hugewise_experiment::run::stats::student::Student;

/// The units of two arms and one metric, as columns of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Index of the unit among all units.
    pub unit: Vec<usize>,
    /// True if the unit has the treated arm.
    pub treated: Vec<bool>,
    /// The compared value: the unit's mean, on the scale of the metric.
    pub value: Vec<f64>,
    /// The unit's mean in the pre-period, if it has one.
    pub past: Vec<Option<f64>>,
    /// Index of the unit's stratum.
    pub stratum: Vec<usize>,
    /// Index of the unit's cluster.
    pub cluster: Vec<usize>,
}

/// The difference of two arms, treated minus control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The difference, on the scale of the values.
    pub effect: f64,
    /// Its standard error, by clusters.
    pub error: f64,
    /// Degrees of freedom after Satterthwaite.
    pub freedom: f64,
    /// Slope of the values on the pre-period values; zero without any.
    pub slope: f64,
    /// The variance by clusters over the variance of independent units.
    pub design_effect: f64,
    /// Treated and control units in the comparison.
    pub units: [usize; 2],
    /// Units excluded from the comparison, because their stratum has fewer than two clusters in one of the arms.
    pub left_out: usize,
}

/// The parts of a sample that do not depend on the arms, computed once for all draws.
#[derive(Debug)]
pub(super) struct Ground {
    /// The stratum of each unit, numbered from 0.
    stratum: Vec<usize>,
    /// The cluster of each unit within its stratum, numbered from 0 over all strata.
    group: Vec<usize>,
    /// The stratum of each group.
    stratum_of: Vec<usize>,
    /// The pre-period values. A unit without one gets the mean of its stratum.
    past: Vec<f64>,
    strata: usize,
}

/// One arm within one stratum.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    units: f64,
    clusters: usize,
    past: f64,
    value: f64,
    /// Sum of squares of the residuals.
    squares: f64,
    /// Sum of squares of the residuals summed by cluster.
    by_cluster: f64,
}

/// One stratum.
#[derive(Clone, Copy, Debug, Default)]
struct Stratum {
    /// Control first, then treated.
    cells: [Cell; 2],
    /// True if a cluster has both arms.
    is_mixed: bool,
    /// Sum of squares of the differences of both arms by cluster, each weighted like its arm.
    mixed: f64,
}

impl Sample {
    /// Returns the estimate under the arms of the sample. `None` if no stratum has two clusters in both arms.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate_of(&self.treated, &self.ground())
    }

    /// The mean of the untreated units. `None` without any.
    #[must_use]
    pub(super) fn untreated(&self) -> Option<f64> {
        let values = self.value.iter().zip(&self.treated);
        let untreated: Vec<f64> = values
            .filter(|(_, treated)| !**treated)
            .map(|(value, _)| *value)
            .collect();
        (!untreated.is_empty()).then(|| untreated.iter().sum::<f64>() / untreated.len() as f64)
    }

    /// Returns the estimate under other arms, for a randomisation test.
    pub(super) fn estimate_of(&self, treated: &[bool], ground: &Ground) -> Option<Estimate> {
        let mut strata = self.strata(treated, ground);
        let slope = self.slope(treated, ground, &strata);
        for cell in strata.iter_mut().flat_map(|it| &mut it.cells) {
            cell.value -= slope * cell.past;
        }
        self.add_residuals(treated, ground, slope, &mut strata);
        self.difference(&strata, slope)
    }

    /// Computes the parts that do not depend on the arms.
    pub(super) fn ground(&self) -> Ground {
        let mut strata = BTreeMap::new();
        let stratum = counted(&mut strata, self.stratum.iter().copied());
        let mut groups = BTreeMap::new();
        let pairs = stratum.iter().copied().zip(self.cluster.iter().copied());
        let group = counted(&mut groups, pairs);
        let mut stratum_of = vec![0; groups.len()];
        for (&group, &stratum) in group.iter().zip(&stratum) {
            stratum_of[group] = stratum;
        }
        Ground {
            past: self.whole_past(),
            stratum,
            group,
            stratum_of,
            strata: strata.len(),
        }
    }

    /// Units, clusters and means of each stratum. A stratum in which an arm has fewer than two clusters is empty and
    /// not compared.
    fn strata(&self, treated: &[bool], ground: &Ground) -> Vec<Stratum> {
        let mut strata = vec![Stratum::default(); ground.strata];
        let mut seen = vec![[false; 2]; ground.stratum_of.len()];
        for (unit, &treated) in treated.iter().enumerate() {
            let arm = usize::from(treated);
            let cell = &mut strata[ground.stratum[unit]].cells[arm];
            cell.units += 1.0;
            cell.past += ground.past[unit];
            cell.value += self.value[unit];
            seen[ground.group[unit]][arm] = true;
        }
        for (arms, &stratum) in seen.iter().zip(&ground.stratum_of) {
            let stratum = &mut strata[stratum];
            for (cell, seen) in stratum.cells.iter_mut().zip(arms) {
                cell.clusters += usize::from(*seen);
            }
            stratum.is_mixed |= arms[0] && arms[1];
        }
        for stratum in &mut strata {
            if stratum.cells.iter().any(|cell| cell.clusters < 2) {
                *stratum = Stratum::default();
            }
            for cell in stratum.cells.iter_mut().filter(|cell| cell.units > 0.0) {
                cell.past /= cell.units;
                cell.value /= cell.units;
            }
        }
        strata
    }

    /// The pre-period values. A unit without one gets the mean of its stratum. They precede every arm, so they are
    /// equal under all arms.
    fn whole_past(&self) -> Vec<f64> {
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

    /// Slope of the values on the pre-period values, within strata and arms.
    fn slope(&self, treated: &[bool], ground: &Ground, strata: &[Stratum]) -> f64 {
        let (mut both, mut alone) = (0.0, 0.0);
        for (unit, &treated) in treated.iter().enumerate() {
            let cell = &strata[ground.stratum[unit]].cells[usize::from(treated)];
            if cell.units > 0.0 {
                let past = ground.past[unit] - cell.past;
                both += past * (self.value[unit] - cell.value);
                alone += past * past;
            }
        }
        if alone > 0.0 { both / alone } else { 0.0 }
    }

    /// Sums of squares of the residuals: by unit, and summed by cluster. A cluster with both arms keeps the sign of
    /// each, so its common part cancels.
    fn add_residuals(&self, treated: &[bool], ground: &Ground, slope: f64, strata: &mut [Stratum]) {
        let mut sums = vec![[0.0; 2]; ground.stratum_of.len()];
        for (unit, &treated) in treated.iter().enumerate() {
            let arm = usize::from(treated);
            let cell = &mut strata[ground.stratum[unit]].cells[arm];
            let residual = slope.mul_add(-ground.past[unit], self.value[unit]) - cell.value;
            cell.squares += residual * residual;
            sums[ground.group[unit]][arm] += residual;
        }
        for (sums, &stratum) in sums.iter().zip(&ground.stratum_of) {
            let stratum = &mut strata[stratum];
            for (cell, sum) in stratum.cells.iter_mut().zip(sums) {
                cell.by_cluster += sum * sum;
            }
            let [control, treated] = stratum.cells.map(|cell| cell.scale());
            stratum.mixed += (treated * sums[1] - control * sums[0]).powi(2);
        }
    }

    fn difference(&self, strata: &[Stratum], slope: f64) -> Option<Estimate> {
        let compared = strata.iter().filter(|it| it.cells[0].units > 0.0);
        let count = |arm: usize| strata.iter().map(|it| it.cells[arm].units).sum::<f64>();
        let units = [count(1), count(0)];
        let total = units[0] + units[1];
        let mut sum = Parts::default();
        for stratum in compared {
            let [control, treated] = &stratum.cells;
            let weight = (control.units + treated.units) / total;
            sum.effect += weight * (treated.value - control.value);
            stratum.add_variance(&mut sum, weight);
        }
        let freedom = sum.variance.powi(2) / sum.squares - f64::from(u8::from(slope != 0.0));
        let units = units.map(|units| units as usize);
        let estimate = Estimate {
            effect: sum.effect,
            error: sum.variance.sqrt(),
            freedom: freedom.max(1.0),
            slope,
            design_effect: match sum.independent > 0.0 {
                true => sum.variance / sum.independent,
                false => 1.0,
            },
            units,
            left_out: self.value.len() - units[0] - units[1],
        };
        // If both arms have no scatter and differ, the effect is known exactly. Overflowing sums give no estimate.
        let is_known = sum.effect.is_finite() && sum.variance.is_finite();
        let says = is_known && (sum.variance > 0.0 || sum.effect != 0.0);
        (total > 0.0 && says).then_some(estimate)
    }
}

/// Numbers the keys, in ascending order.
fn counted<K: Ord + Copy>(
    numbers: &mut BTreeMap<K, usize>,
    keys: impl Iterator<Item = K> + Clone,
) -> Vec<usize> {
    numbers.extend(keys.clone().map(|key| (key, 0)));
    for (number, place) in numbers.values_mut().enumerate() {
        *place = number;
    }
    keys.map(|key| numbers[&key]).collect()
}

impl Cell {
    /// The weight of a cluster residual in the error of the arm's mean.
    fn scale(&self) -> f64 {
        let groups = self.clusters as f64;
        (groups / (groups - 1.0)).sqrt() / self.units
    }
}

impl Stratum {
    /// Neyman's variance by clusters.
    fn add_variance(&self, sum: &mut Parts, weight: f64) {
        for cell in &self.cells {
            let n = cell.units;
            sum.independent += (weight / n).powi(2) * (n / (n - 1.0)) * cell.squares;
        }
        if self.is_mixed {
            let fewest = self.cells.iter().map(|cell| cell.clusters).min();
            sum.add(weight.powi(2) * self.mixed, fewest.unwrap_or(2));
            return;
        }
        for cell in &self.cells {
            let variance = (weight * cell.scale()).powi(2) * cell.by_cluster;
            sum.add(variance, cell.clusters);
        }
    }
}

#[derive(Default)]
struct Parts {
    effect: f64,
    variance: f64,
    /// Sum of the squared variance parts over their degrees of freedom.
    squares: f64,
    independent: f64,
}

impl Parts {
    fn add(&mut self, variance: f64, clusters: usize) {
        self.variance += variance;
        self.squares += variance * variance / (clusters as f64 - 1.0);
    }
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

    fn above(&self, t: f64) -> f64 {
        Student::new(self.freedom).map_or(1.0, |student| student.above(t))
    }
}

/// The interval of an effect at level 1 − `alpha` by Student's distribution, from its error and degrees of freedom.
pub(super) fn interval([effect, error, freedom]: [f64; 3], alpha: f64) -> (f64, f64) {
    let radius = error * quantile(freedom, 1.0 - alpha / 2.0);
    (effect - radius, effect + radius)
}

fn quantile(freedom: f64, level: f64) -> f64 {
    Student::new(freedom).map_or(f64::INFINITY, |student| student.quantile(level))
}

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

    #[test]
    fn arms_without_scatter_differ_or_say_nothing() {
        let rows = |treated: f64| -> Vec<_> {
            let value = |at: usize| if at.is_multiple_of(2) { treated } else { 0.0 };
            (0..8)
                .map(|at| (at % 2 == 0, value(at), Some(0.0), 0, at))
                .collect()
        };
        let estimate = sample(&rows(0.01)).estimate().expect("a difference");
        close(estimate.effect, 0.01);
        assert_eq!((estimate.error, estimate.freedom), (0.0, 1.0));
        assert_eq!((estimate.p(), estimate.p_increase()), (0.0, 0.0));
        assert_eq!(estimate.interval(0.05), (0.01, 0.01));
        assert_eq!(sample(&rows(0.0)).estimate(), None);
    }

    /// Copies of one unit in one cluster add no information.
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
