//! Simulated fleets: rows with a known effect, to measure the error rates of the analysis.

use std::f64::consts::TAU;

use super::period::LATENCY;
use super::{Ending, Phase, Proof, Row, Sums};

/// The arms of simulated rows, the control first.
pub const ARMS: [&str; 2] = ["control", "treated"];
const PERIOD: f64 = 300.0;

/// A fleet and its treatment. Scatter and effects are on the logarithmic scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fleet {
    /// The number of hosts; each is a cluster.
    pub hosts: usize,
    /// The number of units per host.
    pub units: usize,
    /// The number of strata, which hosts are assigned to in rotation.
    pub strata: usize,
    /// The assignment of the treated arm.
    pub rule: SimulatedAssignment,
    /// Standard deviation of the permanent part that the units of a host share.
    pub host: f64,
    /// Standard deviation of the permanent part of a unit.
    pub unit: f64,
    /// Standard deviation of the part of a unit that is constant within one phase.
    pub phase: f64,
    /// Standard deviation of the part of a unit in a single period.
    pub period: f64,
    /// The number of periods before and during the arms.
    pub periods: [i64; 2],
    /// Effect on treated units.
    pub effect: f64,
    /// Effect on all units of a host, multiplied by its treated share.
    pub spill_over: f64,
    /// Probability that a treated unit ends in the middle.
    pub lost: f64,
}

/// The assignment of the treated arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedAssignment {
    /// Whole hosts, with equal chances.
    Hosts,
    /// Single units, with equal chances.
    Units,
    /// Single units, with the saturation drawn for their host: none, half, or all.
    Saturation,
}

impl Fleet {
    /// Hosts of two units whose pre-period predicts most of their values, without any effect.
    #[must_use]
    pub fn quiet() -> Self {
        Self {
            hosts: 30,
            units: 2,
            strata: 2,
            rule: SimulatedAssignment::Hosts,
            host: 0.2,
            unit: 0.2,
            phase: 0.05,
            period: 0.0,
            periods: [2, 6],
            effect: 0.0,
            spill_over: 0.0,
            lost: 0.0,
        }
    }

    /// Returns the rows. The same seed gives the same fleet.
    #[must_use]
    pub fn rows(&self, seed: u64) -> Vec<Row> {
        let mut rows = Vec::new();
        self.each_row(seed, |row| rows.push(row.clone()));
        rows
    }

    /// Passes the rows one by one. For two fleets that differ only in the number of hosts, the smaller one is a prefix
    /// of the larger one.
    pub fn each_row(&self, seed: u64, mut take: impl FnMut(&Row)) {
        let mut random = fastrand::Rng::with_seed(seed);
        for host in 0..self.hosts {
            let shared = self.host * normal(&mut random);
            let whole = random.bool();
            let saturation = [0.0, 0.5, 1.0][random.usize(..3)];
            let drawn: Vec<bool> = (0..self.units)
                .map(|_| match self.rule {
                    SimulatedAssignment::Hosts => whole,
                    SimulatedAssignment::Units => random.bool(),
                    SimulatedAssignment::Saturation => random.f64() < saturation,
                })
                .collect();
            let share = drawn.iter().filter(|arm| **arm).count() as f64 / self.units as f64;
            for (unit, treated) in drawn.into_iter().enumerate() {
                let mut shape = row(host, unit, self.strata, ARMS[usize::from(treated)]);
                shape.saturation =
                    (self.rule == SimulatedAssignment::Saturation).then_some(saturation);
                self.periods(&mut random, shared, share, treated, |start, phase, mean| {
                    (shape.start, shape.phase) = (start, phase);
                    shape.sums = Sums::one(mean.exp());
                    take(&shape);
                });
            }
        }
    }

    /// The start, the phase and the log mean of each period of a unit.
    fn periods(
        &self,
        random: &mut fastrand::Rng,
        shared: f64,
        share: f64,
        treated: bool,
        mut take: impl FnMut(i64, Phase, f64),
    ) {
        let base = shared + self.unit * normal(random);
        let effect = if treated { self.effect } else { 0.0 };
        let is_lost = treated && random.f64() < self.lost;
        let before = base + self.phase * normal(random);
        let during = base + self.phase * normal(random) + effect + self.spill_over * share;
        let [past, under] = self.periods;
        for period in 0..past + if is_lost { 1 } else { under } {
            let (phase, mean) = match period < past {
                true => (Phase::Before, before),
                false => (Phase::During, during),
            };
            // Fleets without this noise draw nothing for it, so their seeds keep their results.
            let own = match self.period > 0.0 {
                true => self.period * normal(random),
                false => 0.0,
            };
            take(period * PERIOD as i64, phase, mean + own);
        }
    }
}

fn row(host: usize, unit: usize, strata: usize, arm: &str) -> Row {
    Row {
        experiment: "simulated".to_owned(),
        plan: "0".repeat(16),
        unit: format!("host-{host}/{unit}"),
        cluster: format!("host-{host}"),
        stratum: format!("stratum-{}", host % strata),
        arm: arm.to_owned(),
        stage: 0,
        saturation: None,
        start: 0,
        seconds: PERIOD,
        phase: Phase::Before,
        exposure: Some(1.0),
        proof: Proof::Proved,
        ending: Ending::Whole,
        metric: LATENCY.to_owned(),
        sums: Sums::default(),
        histogram: None,
    }
}

/// A draw from the standard normal distribution (Box and Muller).
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (TAU * random.f64()).cos()
}

#[cfg(test)]
mod tests;
