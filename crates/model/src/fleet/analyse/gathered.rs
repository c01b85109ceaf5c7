//! The rows of an experiment, added up per unit as they are read: memory grows with the units and
//! metrics, not with the rows.

use std::collections::BTreeMap;

use crate::fleet::assign::OUTSIDE;
use crate::fleet::{Ending, Phase, Proof, Row};

/// What the rows say, by unit.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    units: BTreeMap<String, UnitRows>,
    /// Rows of other experiments.
    pub others: u64,
    /// Hashes of the plan, with the number of rows of each.
    pub plans: BTreeMap<String, u64>,
}

/// The rows of one unit.
#[derive(Clone, Debug)]
pub(super) struct UnitRows {
    pub(super) arm: String,
    pub(super) stratum: String,
    pub(super) cluster: String,
    /// Whether rows of several arms were found: such a unit is not compared.
    pub(super) changed_arm: bool,
    /// How its latest period under the arm ended.
    pub(super) ending: Ending,
    /// End of its latest period under the arm, seconds since 1970.
    pub(super) until: f64,
    /// Seconds under the arm, those with the settings in force, and those proved.
    pub(super) during: Times,
    pub(super) metrics: BTreeMap<String, Past>,
}

/// Seconds of periods.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) all: f64,
    pub(super) exposed: f64,
    pub(super) proved: f64,
}

/// One metric of one unit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Past {
    pub(super) before: Level,
    pub(super) during: Level,
}

/// The mean of periods, each by its length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    seconds: f64,
    sum: f64,
}

impl Level {
    fn add(&mut self, mean: f64, seconds: f64) {
        self.seconds += seconds;
        self.sum += mean * seconds;
    }

    /// The mean; `None` without a period.
    pub(super) fn mean(self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.sum / self.seconds)
    }
}

impl Gathered {
    /// Takes in one row. Units outside of the experiment and periods of washout are passed over.
    pub fn add(&mut self, row: &Row, experiment: &str) {
        if row.experiment != experiment {
            self.others += 1;
            return;
        }
        *self.plans.entry(row.plan.clone()).or_default() += 1;
        if row.arm == OUTSIDE || row.phase == Phase::Washout || row.sums.n == 0 {
            return;
        }
        let unit = self.units.entry(row.unit.clone());
        let unit = unit.or_insert_with(|| UnitRows::of(row));
        unit.add(row);
    }

    pub(super) fn units(&self) -> impl Iterator<Item = (&String, &UnitRows)> {
        self.units.iter()
    }

    /// Number of units that have rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.units.len()
    }

    /// The metrics of any unit, by name.
    pub(super) fn metrics(&self) -> Vec<String> {
        let names = self.units.values().flat_map(|it| it.metrics.keys());
        let names: std::collections::BTreeSet<&String> = names.collect();
        names.into_iter().cloned().collect()
    }

    /// End of the last period of any unit.
    pub(super) fn until(&self) -> f64 {
        let ends = self.units.values().map(|it| it.until);
        ends.fold(f64::NEG_INFINITY, f64::max)
    }
}

impl UnitRows {
    fn of(row: &Row) -> Self {
        Self {
            arm: row.arm.clone(),
            stratum: row.stratum.clone(),
            cluster: row.cluster.clone(),
            changed_arm: false,
            ending: Ending::Whole,
            until: f64::NEG_INFINITY,
            during: Times::default(),
            metrics: BTreeMap::new(),
        }
    }

    fn add(&mut self, row: &Row) {
        let past = self.metrics.entry(row.metric.clone()).or_default();
        if row.phase == Phase::Before {
            past.before.add(row.sums.mean, row.seconds);
            return;
        }
        past.during.add(row.sums.mean, row.seconds);
        self.changed_arm |= row.arm != self.arm;
        let end = row.start as f64 + row.seconds;
        if end >= self.until {
            self.until = end;
            self.ending = row.ending;
        }
        self.during.all += row.seconds;
        self.during.exposed += row.seconds * row.exposure;
        if row.proof == Proof::Proved {
            self.during.proved += row.seconds;
        }
    }
}
