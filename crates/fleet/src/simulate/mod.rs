//! Fleets that do not exist: rows with a known effect, to see how often the analysis errs.

use std::f64::consts::TAU;

use super::period::LATENCY;
use super::{Ending, Phase, Proof, Row, Sums};

/// The arms of simulated rows, the control first.
pub const ARMS: [&str; 2] = ["control", "treated"];
const PERIOD: f64 = 300.0;

/// A fleet and what is done to it. Scatter and effects are on the logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fleet {
    /// Hosts, which are the clusters.
    pub hosts: usize,
    /// Units of each host.
    pub units: usize,
    /// Strata, which hosts belong to in turn.
    pub strata: usize,
    /// Who gets the treated arm.
    pub rule: SimulatedAssignment,
    /// Standard deviation of what the units of a host share, for ever.
    pub host: f64,
    /// Standard deviation of what a unit has of its own, for ever.
    pub unit: f64,
    /// Standard deviation of what a unit has in one phase only.
    pub phase: f64,
    /// Standard deviation of what a unit has in one period only.
    pub period: f64,
    /// Periods before and during the arms.
    pub periods: [i64; 2],
    /// Effect on treated units.
    pub effect: f64,
    /// Effect on all units of a host, times its treated share.
    pub spill_over: f64,
    /// Chance that a treated unit ends in the middle.
    pub lost: f64,
}

/// Who is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedAssignment {
    /// Each host whole, with even chances.
    Hosts,
    /// Each unit, with even chances.
    Units,
    /// Each unit, with the saturation that its host drew: none, half, or all.
    Saturation,
}

impl Fleet {
    /// Hosts of two units whose past tells most of their future, without any effect.
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

    /// The rows. One seed gives one fleet.
    #[must_use]
    pub fn rows(&self, seed: u64) -> Vec<Row> {
        let mut rows = Vec::new();
        self.each_row(seed, |row| rows.push(row.clone()));
        rows
    }

    /// Gives the rows one by one. Of two fleets that differ in the number of hosts, the smaller one
    /// is the beginning of the other.
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

    /// The start, the phase and the mean, a logarithm, of each period of a unit.
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
            // Fleets without such noise draw nothing for it: their seeds give what they gave.
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
