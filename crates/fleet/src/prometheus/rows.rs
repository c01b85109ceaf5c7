//! The three responses about the periods of one metric, as rows.

use std::collections::BTreeMap;

use super::answer::{Labels, Series};
use super::{Statistic, Stretch};
use crate::assign::OUTSIDE;
use crate::plan::{Moment, Plan};
use crate::schedule::{Duty, duty};
use crate::{Ending, Phase, Proof, Row, Sums};

/// Count, mean and variance of the periods of one metric.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    periods: BTreeMap<(Labels, i64), [Option<f64>; 3]>,
}

impl Gathered {
    /// Adds the response to one of the queries.
    pub fn add(&mut self, statistic: Statistic, series: Vec<Series>) {
        for one in series {
            for point in &one.points {
                let end = point.at.round() as i64;
                let period = self.periods.entry((one.labels.clone(), end)).or_default();
                period[statistic as usize] = Some(point.value);
            }
        }
    }

    /// Returns the rows. The row of a unit says `outside` if the plan gives it no arm, or a different arm than its
    /// values. That happens if it was stopped or had an older plan.
    ///
    /// # Errors
    /// Fails if a series has no unit label, because its recording rule is wrong.
    pub fn rows(
        self,
        plan: &Plan,
        digest: &str,
        metric: &str,
        stretch: &Stretch,
    ) -> Result<Vec<Row>, String> {
        let make = |((labels, end), values): ((Labels, i64), [Option<f64>; 3])| {
            if labels.unit.is_empty() {
                return Some(Err(format!("a series of {metric} has no label `unit`")));
            }
            let sums = sums(values)?;
            let start = Moment(end - stretch.seconds);
            let place = Place::of(plan, &labels, start);
            Some(Ok(Row {
                experiment: plan.name.clone(),
                plan: digest.to_owned(),
                cluster: plan.unit.cluster(&labels.unit).to_owned(),
                unit: labels.unit,
                stratum: labels.stratum,
                arm: place.arm,
                stage: place.stage,
                saturation: place.saturation,
                start: start.0,
                seconds: stretch.seconds as f64,
                phase: place.phase,
                exposure: None,
                proof: Proof::Unknown,
                ending: Ending::Whole,
                metric: metric.to_owned(),
                sums,
                histogram: None,
            }))
        };
        self.periods.into_iter().filter_map(make).collect()
    }
}

/// The planned state of a unit at a point in time.
struct Place {
    arm: String,
    stage: u32,
    saturation: Option<f64>,
    phase: Phase,
}

impl Place {
    fn of(plan: &Plan, labels: &Labels, start: Moment) -> Self {
        let part = match duty(plan, &labels.unit, start) {
            Duty::Arm(part) if plan.arms[part.arm].name == labels.arm => Some(part),
            Duty::Arm(_) | Duty::Outside | Duty::Over => None,
        };
        let arm = part.map_or(OUTSIDE, |part| &plan.arms[part.arm].name);
        let stage = part.map_or(0, |part| part.stage);
        Self {
            arm: arm.to_owned(),
            stage: u32::try_from(stage).unwrap_or(u32::MAX),
            saturation: part.and_then(|part| part.saturation),
            phase: part.map_or(Phase::During, |part| part.phase),
        }
    }
}

/// Returns `None` if a value is NaN, such as a quantile without requests.
fn sums(values: [Option<f64>; 3]) -> Option<Sums> {
    let [n, mean, variance] = values;
    let (n, mean, variance) = (n?, mean?, variance?);
    let is_whole = n >= 1.0 && mean.is_finite() && variance.is_finite();
    is_whole.then(|| Sums {
        n: n as u64,
        mean,
        m2: variance.max(0.0) * n,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Point;
    use super::*;
    use crate::assign::assign;

    const PLAN: &str = "name = 'x'\nstarts = 1000\nuntil = 2000\nperiod = '10s'\n\
        [[arm]]\nname = 'a'\npolicy = 'as-is'\n[[arm]]\nname = 'b'\npolicy = 'thp=never'";

    fn series(unit: &str, arm: &str, values: &[(f64, f64)]) -> Series {
        Series {
            labels: Labels {
                unit: unit.to_owned(),
                arm: arm.to_owned(),
                stratum: "all".to_owned(),
            },
            points: values
                .iter()
                .map(|&(at, value)| Point { at, value })
                .collect(),
        }
    }

    fn rows(unit: &str, arm: &str, mean: f64) -> Result<Vec<Row>, String> {
        let plan: Plan = PLAN.parse().expect("a plan");
        let mut gathered = Gathered::default();
        for (statistic, value) in Statistic::ALL.into_iter().zip([4.0, mean, 0.25]) {
            let points = [(1000.0, value), (1010.0, value)];
            gathered.add(statistic, vec![series(unit, arm, &points)]);
        }
        let stretch = Stretch {
            first: Moment(990),
            periods: 2,
            seconds: 10,
        };
        gathered.rows(&plan, "d", "m", &stretch)
    }

    #[test]
    fn a_period_is_a_row_with_its_sums_and_the_phase_of_the_plan() {
        let plan: Plan = PLAN.parse().expect("a plan");
        let arm = assign(&plan, "u", Moment(1000)).arm;
        let rows = rows("u", &arm, 2.0).expect("rows");
        let phases = rows.iter().map(|row| (row.start, row.phase));
        let expected = [(990, Phase::Before), (1000, Phase::During)];
        assert_eq!(phases.collect::<Vec<_>>(), expected);
        let sums = Sums {
            n: 4,
            mean: 2.0,
            m2: 1.0,
        };
        assert_eq!((rows[1].sums, rows[1].arm.clone()), (sums, arm));
    }

    #[test]
    fn another_arm_than_the_plans_is_outside_and_no_number_is_no_row() {
        let outside = rows("u", "neither", 2.0).expect("rows");
        assert!(outside.iter().all(|row| row.arm == OUTSIDE));
        assert_eq!(rows("u", "a", f64::NAN), Ok(Vec::new()));
        assert!(rows("", "a", 2.0).expect_err("no unit").contains("`unit`"));
    }
}
