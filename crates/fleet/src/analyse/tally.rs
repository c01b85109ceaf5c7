//! Rows summed by unit, so that memory grows with units and metrics and not with rows.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::covered::Covered;
use super::estimate::Sample;
use super::past::{Past, Stretches};
use super::scale::Scale;
use crate::assign::OUTSIDE;
use crate::plan::{Moment, Turns};
use crate::{Ending, Phase, Proof, Row, Sums};

/// A unit, as seen in its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// The name.
    pub name: String,
    /// Its arm in its earliest row under an arm; if there is none, in the pre-period.
    pub arm: String,
    /// True if it was ever under an arm.
    pub began: bool,
    /// True if its rows name several arms.
    pub crossed: bool,
    /// Index of its cluster.
    pub cluster: usize,
    /// Index of its stratum.
    pub stratum: usize,
    /// Treated share of its cluster.
    pub saturation: Option<f64>,
    /// How its periods ended, without duplicates.
    pub endings: Vec<Ending>,
    /// End of its last period, in seconds since 1970.
    pub last: f64,
    /// Length of its longest period, in seconds.
    pub period: f64,
    /// The number of its periods.
    pub periods: u64,
    first: i64,
    covered: Covered,
}

/// One metric of one unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Means {
    pub(super) before: Sums,
    pub(super) during: Sums,
    past: Past,
    covered: Covered,
    pub(super) turns: BTreeMap<i64, Turn>,
    /// The pre-period by hypothetical turns of the plan, without their washout.
    pub(super) past_turns: BTreeMap<i64, Sums>,
}

/// One turn of a unit.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) arm: String,
    start: i64,
    /// The sums of its first compared period.
    pub(super) first: Sums,
    /// The sums of the other periods.
    pub(super) rest: Sums,
}

/// All rows of one experiment.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The experiment, from the first row.
    pub experiment: String,
    /// Digests of its plan texts.
    pub plans: BTreeSet<String>,
    /// The units, in the order of their first rows.
    pub units: Vec<Unit>,
    /// The number of added rows.
    pub rows: u64,
    /// Duplicate rows: the time of the unit was already counted.
    pub repeated: u64,
    /// Rows of units without an arm.
    pub outside: u64,
    /// Periods under an arm by their proof: proved, missed, unknown.
    pub proofs: [u64; 3],
    /// Sum and number of the known exposures, over the periods under an arm.
    pub exposure: (f64, u64),
    /// The highest stage named in a row.
    pub stage: u32,
    pub(super) metrics: BTreeMap<String, BTreeMap<usize, Means>>,
    turns: Option<Turns>,
    stretches: Stretches,
    names: HashMap<String, usize>,
    clusters: HashMap<String, usize>,
    strata: HashMap<String, usize>,
}

/// Why a row cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The row belongs to another experiment.
    #[error("the rows are of two experiments, {0} and {1}; give the folder of one: experiment={0}")]
    OtherExperiment(String, String),
    /// A value that no agent writes.
    #[error("the {0} of a row of {1} is not a finite number, or below zero")]
    NoNumber(&'static str, String),
}

impl Turn {
    /// The sums of the whole turn.
    pub(super) fn all(&self) -> Sums {
        let mut all = self.first;
        all.merge(&self.rest);
        all
    }

    fn add(&mut self, row: &Row) {
        let mut sums = row.sums;
        if row.start < self.start {
            self.start = row.start;
            std::mem::swap(&mut self.first, &mut sums);
        }
        self.rest.merge(&sums);
    }
}

impl Tally {
    /// An empty tally; `turns` if arms take turns.
    #[must_use]
    pub fn new(turns: Option<Turns>) -> Self {
        Self {
            turns,
            ..Self::default()
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Fails if it belongs to another experiment, or if a required number is missing.
    pub fn add(&mut self, row: &Row) -> Result<(), RowError> {
        self.check(row)?;
        self.rows += 1;
        if !self.plans.contains(&row.plan) {
            self.plans.insert(row.plan.clone());
        }
        if row.arm == OUTSIDE {
            self.outside += 1;
            return Ok(());
        }
        self.stage = self.stage.max(row.stage);
        let unit = self.unit(row);
        let is_period = self.units[unit].covered.add(row.start as f64, row.seconds);
        self.units[unit].periods += u64::from(is_period);
        if is_period && row.phase == Phase::During {
            self.add_proof(row);
        }
        let metric = match self.metrics.get_mut(&row.metric) {
            Some(metric) => metric,
            None => self.metrics.entry(row.metric.clone()).or_default(),
        };
        let means = metric.entry(unit).or_default();
        if !means.covered.add(row.start as f64, row.seconds) {
            self.repeated += 1;
            return Ok(());
        }
        match row.phase {
            Phase::Before => {
                means.before.merge(&row.sums);
                self.stretches.widen(row.start);
                means.past.add(self.stretches, row.start, &row.sums);
                if let Some(turns) = self.turns {
                    means.add_past_turn(turns, row);
                }
            }
            Phase::Washout => {}
            Phase::During => {
                means.during.merge(&row.sums);
                if let Some(turns) = self.turns {
                    means.add_turn(turns, row);
                }
            }
        }
        Ok(())
    }

    /// Adds the proof and the exposure of a period, which all its rows repeat.
    fn add_proof(&mut self, row: &Row) {
        if let Some(exposure) = row.exposure {
            self.exposure = (self.exposure.0 + exposure, self.exposure.1 + 1);
        }
        self.proofs[match row.proof {
            Proof::Proved => 0,
            Proof::Missed => 1,
            Proof::Unknown => 2,
        }] += 1;
    }

    fn check(&mut self, row: &Row) -> Result<(), RowError> {
        if self.rows == 0 {
            self.experiment.clone_from(&row.experiment);
        }
        if self.experiment != row.experiment {
            let names = (self.experiment.clone(), row.experiment.clone());
            return Err(RowError::OtherExperiment(names.0, names.1));
        }
        let fault = |what| Err(RowError::NoNumber(what, row.unit.clone()));
        match () {
            () if !row.sums.mean.is_finite() => fault("mean"),
            () if !(row.sums.m2.is_finite() && row.sums.m2 >= 0.0) => fault("m2"),
            () if !(row.seconds.is_finite() && row.seconds >= 0.0) => fault("length"),
            () if row.exposure.is_some_and(|it| !(0.0..=1.0).contains(&it)) => fault("exposure"),
            () => Ok(()),
        }
    }

    fn unit(&mut self, row: &Row) -> usize {
        let began = row.phase != Phase::Before;
        let known = self.names.get(&row.unit).copied();
        let at = known.unwrap_or_else(|| self.new_unit(row));
        let unit = &mut self.units[at];
        let is_earlier = row.start < unit.first;
        unit.crossed |= began && unit.began && unit.arm != row.arm;
        if began && !unit.began || (began == unit.began && is_earlier) {
            unit.arm.clone_from(&row.arm);
            unit.first = row.start;
        }
        unit.began |= began;
        unit.last = unit.last.max(row.start as f64 + row.seconds);
        unit.period = unit.period.max(row.seconds);
        if began && !unit.endings.contains(&row.ending) {
            unit.endings.push(row.ending);
        }
        at
    }

    fn new_unit(&mut self, row: &Row) -> usize {
        let index = |names: &mut HashMap<String, usize>, name: &str| {
            let next = names.len();
            *names.entry(name.to_owned()).or_insert(next)
        };
        self.units.push(Unit {
            name: row.unit.clone(),
            arm: row.arm.clone(),
            began: row.phase != Phase::Before,
            crossed: false,
            cluster: index(&mut self.clusters, &row.cluster),
            stratum: index(&mut self.strata, &row.stratum),
            saturation: row.saturation,
            endings: Vec::new(),
            last: f64::NEG_INFINITY,
            period: 0.0,
            periods: 0,
            first: row.start,
            covered: Covered::default(),
        });
        index(&mut self.names, &row.unit)
    }

    /// Names of the arms of the units.
    #[must_use]
    pub fn arms(&self) -> Vec<String> {
        let names: BTreeSet<&String> = self.units.iter().map(|unit| &unit.arm).collect();
        names.into_iter().cloned().collect()
    }

    /// Names of the metrics.
    pub fn metric_names(&self) -> impl Iterator<Item = &String> {
        self.metrics.keys()
    }

    /// Clusters and strata of the units.
    #[must_use]
    pub fn groups(&self) -> [usize; 2] {
        [self.clusters.len(), self.strata.len()]
    }

    /// End of the last period of any unit, in seconds since 1970.
    #[must_use]
    pub fn end(&self) -> f64 {
        let ends = self.units.iter().map(|unit| unit.last);
        ends.fold(f64::NEG_INFINITY, f64::max)
    }

    /// The scale of a metric: logarithms, unless it is a share or a compared mean has no logarithm.
    #[must_use]
    pub fn scale(&self, metric: &str) -> Scale {
        let units = self.metrics.get(metric).into_iter().flatten();
        Scale::of_metric(metric, units.flat_map(|(_, means)| means.compared()))
    }

    /// The number of values in the earlier and the later half of the pre-period, over all units.
    pub(crate) fn halves(&self, metric: &str) -> [u64; 2] {
        let mut all = [0, 0];
        for means in self
            .metrics
            .get(metric)
            .into_iter()
            .flat_map(BTreeMap::values)
        {
            let halves = means.past.halves(self.stretches);
            all = [all[0] + halves[0].n, all[1] + halves[1].n];
        }
        all
    }

    /// The units that `arm_of` assigns to an arm; true means treated.
    pub(crate) fn sample(
        &self,
        metric: &str,
        time: Time,
        arm_of: impl Fn(&Unit) -> Option<bool>,
    ) -> Sample {
        let scale = self.scale(metric);
        let mut sample = Sample::default();
        for (&at, means) in self.metrics.get(metric).into_iter().flatten() {
            let unit = &self.units[at];
            let (value, past) = match time {
                Time::During => (scale.of(&means.during), scale.of(&means.before)),
                Time::Before => (scale.of(&means.before), None),
                Time::Halves => {
                    let [early, late] = means.past.halves(self.stretches);
                    (scale.of(&late), scale.of(&early))
                }
            };
            if let Some((treated, value)) = arm_of(unit).zip(value) {
                sample.unit.push(at);
                sample.treated.push(treated);
                sample.value.push(value);
                sample.past.push(past);
                sample.stratum.push(unit.stratum);
                sample.cluster.push(unit.cluster);
            }
        }
        sample
    }
}

impl Unit {
    /// Returns true if the unit stopped reporting while others continued until `end`, for longer than three of its
    /// periods and than any of its gaps. A unit with a stopped agent has not vanished.
    #[must_use]
    pub fn has_vanished(&self, end: f64) -> bool {
        let silence = self.covered.longest_gap() + 3.0 * self.period;
        !self.endings.contains(&Ending::Stopped) && self.last + silence < end
    }

    /// Start of the row that gave it its arm, in seconds since 1970.
    #[must_use]
    pub fn first(&self) -> i64 {
        self.first
    }
}

/// The compared periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// Periods under the arms, adjusted for the pre-period.
    During,
    /// Only the pre-period, as a forecast.
    Before,
    /// The later half of the pre-period, adjusted for the earlier half.
    Halves,
}

impl Means {
    /// All sums with a compared mean.
    fn compared(&self) -> impl Iterator<Item = Sums> {
        let turns = self.turns.values();
        let turns = turns.flat_map(|turn| [turn.first, turn.rest]);
        let means = [self.before, self.during].into_iter().chain(turns);
        means.chain(self.past_turns.values().copied())
    }

    fn add_past_turn(&mut self, turns: Turns, row: &Row) {
        let start = Moment(row.start);
        if !turns.is_washout(start) {
            let turn = self.past_turns.entry(turns.number(start)).or_default();
            turn.merge(&row.sums);
        }
    }

    fn add_turn(&mut self, turns: Turns, row: &Row) {
        let number = turns.number(Moment(row.start));
        match self.turns.entry(number) {
            Entry::Occupied(turn) => turn.into_mut().add(row),
            Entry::Vacant(place) => {
                place.insert(Turn {
                    arm: row.arm.clone(),
                    start: row.start,
                    first: row.sums,
                    rest: Sums::default(),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests;
