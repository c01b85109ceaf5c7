//! The answer of a fleet experiment: what each arm does to each metric, by the rows of the units.
//!
//! The unit is what was randomised: its periods are averaged first, and units that share a
//! cluster and an arm are one point. Effects are differences between the arms within strata, with
//! Neyman's variance (Neyman, 1923), on the log scale where all values are above zero, adjusted
//! by each unit's own past where all units have one. Beside Student's p stands that of a
//! randomisation test, which draws the arms again by the plan's own rule.

use std::collections::BTreeMap;

use serde::Serialize;

use super::plan::{Moment, Plan};
use crate::fleet::Ending;
use crate::fleet::assign::assign;
use crate::run::stats::ALPHA;
use checks::{Lost, lost_equally, sample_ratio};
use estimate::{Difference, Point, adjust};
pub use gathered::Gathered;
use gathered::UnitRows;

mod checks;
mod csv;
mod document;
mod estimate;
mod gathered;
#[cfg(test)]
mod tests;

/// Draws of the randomisation test: with 999 the smallest p-value is 0.001.
const DRAWS: u32 = 999;
/// Below this p-value arms are said to have lost their units by more than chance.
const ALARM: f64 = 0.01;
/// A unit has vanished where its last row ends so many periods before the last of all.
const PERIODS_OF_SILENCE: f64 = 2.5;

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// Kind and version of this document.
    format: &'static str,
    /// Name of the experiment.
    pub experiment: String,
    /// The arms, the control first.
    pub arms: Vec<ArmUnits>,
    /// p-value that the arms have units as their weights say.
    pub sample_ratio_p: Option<f64>,
    /// By arm and metric.
    pub effects: Vec<Effect>,
    /// Metrics without an effect, and why.
    pub left_out: Vec<LeftOut>,
    /// Units with rows of several arms; they are not compared.
    pub changed_arm: u64,
    /// Versions of the plan in the rows.
    pub plans: usize,
    /// Whether units of one cluster were made one point.
    pub clustered: bool,
    /// Error that all effects together may make.
    pub alpha: f64,
}

/// The units of one arm.
#[derive(Clone, Debug, Serialize)]
pub struct ArmUnits {
    /// Name of the arm.
    pub arm: String,
    /// Units with rows under the arm.
    pub units: u64,
    /// Of these, how many were stopped by a guardrail or killed.
    pub stopped: u64,
    /// How many fell silent before the others ended.
    pub vanished: u64,
    /// p-value that stopped and vanished units are as frequent as in the control.
    pub lost_p: Option<f64>,
    /// Share of the time with the settings in force.
    pub exposure: f64,
    /// Share of the time for which the treatment is proved.
    pub proved: f64,
}

/// What an arm does to a metric.
#[derive(Clone, Debug, Serialize)]
pub struct Effect {
    /// Name of the arm.
    pub arm: String,
    /// Name of the metric.
    pub metric: String,
    /// How the change is expressed.
    pub scale: Scale,
    /// The change against the control.
    pub change: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard error on the scale of comparison: of the logarithm where the change is relative.
    pub error: f64,
    /// Degrees of freedom (Satterthwaite).
    pub freedom: f64,
    /// Student's p-value.
    pub p: f64,
    /// p-value of the randomisation test.
    pub randomisation_p: f64,
    /// Points (units, or clusters) in the control and under the arm.
    pub points: [usize; 2],
    /// Share of the variance that the units' own past left; `None` without a past.
    pub variance_left: Option<f64>,
    /// The smallest change that 80 of 100 such experiments find.
    pub detectable: f64,
    /// What is shown.
    pub verdict: Verdict,
}

/// How a change is expressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Relative: 0.05 is 5 % more.
    Relative,
    /// In the metric's own unit, since some values are zero.
    Absolute,
}

/// What is shown of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The arm raises it.
    Higher,
    /// The arm lowers it.
    Lower,
    /// The whole interval lies within ±1 %.
    Same,
    /// None of these.
    NotDecided,
}

/// A metric without an effect.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// Name of the arm.
    pub arm: String,
    /// Name of the metric.
    pub metric: String,
    /// Why.
    pub why: &'static str,
}

/// A change of less than this share is none of interest, as in `run`.
const OF_INTEREST: f64 = 0.01;

/// The units that are compared, with their arms as indices into the plan.
struct Compared<'a> {
    plan: &'a Plan,
    units: Vec<(&'a str, &'a UnitRows, usize)>,
    /// The arms that chance could have given instead, by draw and unit.
    drawn: Vec<Vec<Option<usize>>>,
}

/// Analyses the rows of a plan. `None` where no unit has rows under its arm.
#[must_use]
pub fn analyse(plan: &Plan, rows: &Gathered) -> Option<Analysis> {
    drawing(plan, rows, DRAWS)
}

/// The analysis with so many draws of the randomisation test.
fn drawing(plan: &Plan, rows: &Gathered, count: u32) -> Option<Analysis> {
    let compared = Compared::of(plan, rows, count);
    if compared.units.is_empty() {
        return None;
    }
    let under = rows.units().filter(|(_, it)| it.during.all > 0.0);
    let changed_arm = under.filter(|(_, it)| it.changed_arm).count() as u64;
    let arms = compared.arms(rows.until());
    let found: Vec<u64> = arms.iter().map(|it| it.units).collect();
    let weights: Vec<f64> = plan.arms.iter().map(|it| it.weight).collect();
    let by_weight = plan.saturation.is_empty();
    let metrics = rows.metrics();
    let family = metrics.len() * (plan.arms.len() - 1);
    let (mut effects, mut left_out) = (Vec::new(), Vec::new());
    for metric in &metrics {
        for arm in 1..plan.arms.len() {
            match compared.effect(metric, arm, ALPHA / family as f64) {
                Ok(effect) => effects.push(effect),
                Err(why) => left_out.push(LeftOut {
                    arm: plan.arms[arm].name.clone(),
                    metric: metric.clone(),
                    why,
                }),
            }
        }
    }
    Some(Analysis {
        format: "hugewise-fleet-analysis 1",
        experiment: plan.name.clone(),
        sample_ratio_p: sample_ratio(&found, &weights).filter(|_| by_weight),
        arms,
        effects,
        left_out,
        changed_arm,
        plans: rows.plans.len(),
        clustered: compared
            .units
            .iter()
            .any(|(name, it, _)| it.cluster != **name),
        alpha: ALPHA,
    })
}

impl<'a> Compared<'a> {
    fn of(plan: &'a Plan, rows: &'a Gathered, count: u32) -> Self {
        let under = rows
            .units()
            .filter(|(_, it)| it.during.all > 0.0 && !it.changed_arm);
        let units = under.filter_map(|(name, it)| {
            let arm = plan.arms.iter().position(|arm| arm.name == it.arm)?;
            Some((name.as_str(), it, arm))
        });
        let units: Vec<_> = units.collect();
        let names: Vec<&str> = units.iter().map(|it| it.0).collect();
        Self {
            plan,
            drawn: draws(plan, &names, count),
            units,
        }
    }

    fn arms(&self, until: f64) -> Vec<ArmUnits> {
        let silence = PERIODS_OF_SILENCE * self.plan.period.as_secs_f64();
        let mut arms: Vec<ArmUnits> = Vec::new();
        for (index, arm) in self.plan.arms.iter().enumerate() {
            let own = self.units.iter().filter(|it| it.2 == index).map(|it| it.1);
            let own: Vec<&UnitRows> = own.collect();
            let was_stopped =
                |it: &UnitRows| matches!(it.ending, Ending::Guardrail | Ending::OutOfMemory);
            let stopped = own.iter().filter(|it| was_stopped(it)).count() as u64;
            let silent = |it: &&&UnitRows| !was_stopped(it) && it.until + silence < until;
            let vanished = own.iter().filter(silent).count() as u64;
            let all: f64 = own.iter().map(|it| it.during.all).sum();
            let share = |part: f64| if all > 0.0 { part / all } else { 0.0 };
            let units = own.len() as u64;
            let lost = Lost {
                lost: stopped + vanished,
                of: units,
            };
            let control = arms.first().map(|it| Lost {
                lost: it.stopped + it.vanished,
                of: it.units,
            });
            arms.push(ArmUnits {
                arm: arm.name.clone(),
                units,
                stopped,
                vanished,
                lost_p: control.map(|control| lost_equally(control, lost)),
                exposure: share(own.iter().map(|it| it.during.exposed).sum()),
                proved: share(own.iter().map(|it| it.during.proved).sum()),
            });
        }
        arms
    }

    fn effect(&self, metric: &str, arm: usize, alpha: f64) -> Result<Effect, &'static str> {
        let sample = Sample::of(self, metric);
        let treated = |name: usize| match name {
            0 => Some(false),
            it if it == arm => Some(true),
            _ => None,
        };
        let points = sample.points(&|unit| treated(self.units[unit].2));
        let is_seen = |side: bool| points.iter().filter(|it| it.treated == side).count();
        let counts = [is_seen(false), is_seen(true)];
        let Some(difference) = Difference::of(&points) else {
            let first = points.first().map(|it| it.value);
            return Err(match points.iter().all(|it| Some(it.value) == first) {
                true if !points.is_empty() => "the same value everywhere",
                _ => "fewer than two units in an arm of each stratum",
            });
        };
        let radius = difference.radius(alpha);
        let shown = |value: f64| match sample.scale {
            Scale::Relative => value.exp_m1(),
            Scale::Absolute => value,
        };
        let (low, high) = (
            shown(difference.mean - radius),
            shown(difference.mean + radius),
        );
        Ok(Effect {
            arm: self.plan.arms[arm].name.clone(),
            metric: metric.to_owned(),
            scale: sample.scale,
            change: shown(difference.mean),
            low,
            high,
            error: difference.error,
            freedom: difference.freedom,
            p: difference.p(),
            randomisation_p: self.randomisation(&sample, &treated, difference),
            points: counts,
            variance_left: sample.variance_left,
            detectable: shown(difference.detectable(alpha)),
            verdict: verdict(sample.scale, low, high),
        })
    }

    /// How often an assignment that the plan could have made gives a difference as large, in units
    /// of its error.
    fn randomisation(
        &self,
        sample: &Sample<'_>,
        treated: &dyn Fn(usize) -> Option<bool>,
        seen: Difference,
    ) -> f64 {
        let size = |it: Difference| (it.mean / it.error).abs();
        let mut as_large = 1;
        for arms in &self.drawn {
            let points = sample.points(&|unit| arms[unit].and_then(treated));
            let drawn = Difference::of(&points);
            as_large += u32::from(drawn.is_some_and(|it| size(it) >= size(seen)));
        }
        f64::from(as_large) / (self.drawn.len() + 1) as f64
    }
}

/// The arms of units in assignments that the plan's rule could have made. Who takes part stays, and
/// so does the salt of that; another name draws the arms anew.
fn draws(plan: &Plan, units: &[&str], count: u32) -> Vec<Vec<Option<usize>>> {
    let mut other = plan.clone();
    other.salt = Some(plan.enrol_salt().to_owned());
    // The last stage holds then: all that ever took part do.
    let moment = Moment(plan.until.0 - 1);
    let draw = |index: u32| {
        other.name = format!("{}#{index}", plan.name);
        let arms = units.iter().map(|unit| {
            let arm = assign(&other, unit, moment).arm;
            other.arms.iter().position(|it| it.name == arm)
        });
        arms.collect()
    };
    (0..count).map(draw).collect()
}

fn verdict(scale: Scale, low: f64, high: f64) -> Verdict {
    match scale {
        Scale::Relative if low > -OF_INTEREST && high < OF_INTEREST => Verdict::Same,
        _ if low > 0.0 => Verdict::Higher,
        _ if high < 0.0 => Verdict::Lower,
        _ => Verdict::NotDecided,
    }
}

/// One metric of all units, on the scale of comparison, adjusted by the past.
struct Sample<'a> {
    scale: Scale,
    /// By unit; a unit without the metric has none.
    values: Vec<Option<Point>>,
    clusters: Vec<&'a str>,
    variance_left: Option<f64>,
}

impl<'a> Sample<'a> {
    fn of(compared: &Compared<'a>, metric: &str) -> Self {
        let mut strata = BTreeMap::<&str, usize>::new();
        let past = |unit: &'a UnitRows| unit.metrics.get(metric);
        let levels: Vec<(Option<f64>, Option<f64>)> = compared
            .units
            .iter()
            .map(|(_, unit, _)| {
                let past = past(unit);
                let during = past.and_then(|it| it.during.mean());
                (during, past.and_then(|it| it.before.mean()))
            })
            .collect();
        let with = levels.iter().filter(|it| it.0.is_some());
        let has_past = with.clone().all(|it| it.1.is_some());
        let positive = |it: &(Option<f64>, Option<f64>)| {
            it.0.is_none_or(|it| it > 0.0) && (!has_past || it.1.is_none_or(|it| it > 0.0))
        };
        let scale = match levels.iter().all(positive) {
            true => Scale::Relative,
            false => Scale::Absolute,
        };
        let on_scale = |value: f64| match scale {
            Scale::Relative => value.ln(),
            Scale::Absolute => value,
        };
        let mut points = Vec::new();
        let mut before = Vec::new();
        for ((_, unit, _), (value, past)) in compared.units.iter().zip(&levels) {
            let next = strata.len();
            let stratum = *strata.entry(unit.stratum.as_str()).or_insert(next);
            let Some(value) = value else { continue };
            let value = on_scale(*value);
            points.push(Point {
                stratum,
                treated: false,
                value,
            });
            before.extend(past.map(on_scale));
        }
        let variance_left = has_past.then(|| adjust(&mut points, &before));
        let mut points = points.into_iter();
        let values = levels
            .iter()
            .map(|(value, _)| value.and_then(|_| points.next()));
        Self {
            scale,
            values: values.collect(),
            clusters: compared
                .units
                .iter()
                .map(|it| it.1.cluster.as_str())
                .collect(),
            variance_left,
        }
    }

    /// The points of an assignment. Units of one cluster, stratum and arm are one point: what they
    /// share makes them alike.
    fn points(&self, treated: &dyn Fn(usize) -> Option<bool>) -> Vec<Point> {
        let mut sums = BTreeMap::<(usize, bool, &str), (f64, f64)>::new();
        for (unit, point) in self.values.iter().enumerate() {
            let (Some(point), Some(treated)) = (point, treated(unit)) else {
                continue;
            };
            let key = (point.stratum, treated, self.clusters[unit]);
            let (n, sum) = sums.entry(key).or_default();
            *n += 1.0;
            *sum += point.value;
        }
        let mean = |((stratum, treated, _), (n, sum)): ((usize, bool, &str), (f64, f64))| Point {
            stratum,
            treated,
            value: sum / n,
        };
        sums.into_iter().map(mean).collect()
    }
}
