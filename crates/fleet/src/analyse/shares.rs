//! Tests the number of units by arm against the rule of assignment, and the losses. The arms of all units are redrawn,
//! as whole clusters if those were randomised.

use std::collections::BTreeMap;

use super::tally::Unit;
use crate::assign::{Draw, Rules, digits, rules};
use crate::plan::{Moment, Plan};

/// The maximum number of draws. The smallest p-value is far below the alarm level.
const DRAWS: u32 = 9_999;
/// This many draws that reach the observed value are enough: the p-value is known, and large.
const ENOUGH: u32 = 50;
const SEED: u64 = 0x7368_6172;

/// The units, and the rule that assigned their arms.
#[derive(Debug)]
pub struct Shares {
    arms: Vec<String>,
    /// The weight of each arm under the rule; the sum is arbitrary.
    weights: Vec<f64>,
    /// The index of the arm of each unit; `None` if the rule does not contain it.
    own: Vec<Option<usize>>,
    clusters: Vec<Vec<usize>>,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    /// Arms have equal chances, and a cluster has one arm.
    Clusters,
    /// Arms have equal chances, and units are independent.
    Units,
    /// The rule of a plan, among enrolled units.
    Planned(Rules),
}

impl Shares {
    /// Under the rule of a plan.
    #[must_use]
    pub fn planned(units: &[Unit], plan: &Plan) -> Self {
        let of_cluster = |unit: &Unit| plan.unit.cluster(&unit.name).to_owned();
        let arms: Vec<String> = plan.arms.iter().map(|arm| arm.name.clone()).collect();
        Self {
            weights: weights(plan),
            own: own(units, &arms),
            clusters: grouped(units, of_cluster),
            rule: Rule::Planned(rules(plan, Moment(plan.until.0 - 1)).of_enrolled()),
            arms,
        }
    }

    /// The rule without a plan: equal chances, for whole clusters unless a cluster has several arms.
    #[must_use]
    pub fn even(units: &[Unit]) -> Self {
        let mut arms: Vec<String> = units.iter().map(|unit| unit.arm.clone()).collect();
        arms.sort();
        arms.dedup();
        let own = own(units, &arms);
        let clusters = grouped(units, |unit| unit.cluster);
        let is_whole = |units: &Vec<usize>| units.iter().all(|&unit| own[unit] == own[units[0]]);
        Self {
            weights: vec![1.0; arms.len()],
            rule: match clusters.iter().all(is_whole) {
                true => Rule::Clusters,
                false => Rule::Units,
            },
            own,
            clusters,
            arms,
        }
    }

    /// Returns true if units of a cluster share a draw, so they are not independent.
    #[must_use]
    pub fn draws_clusters(&self) -> bool {
        let is_shared = match &self.rule {
            Rule::Clusters => true,
            Rule::Units => false,
            Rule::Planned(rules) => rules.ask(Draw::Saturation),
        };
        is_shared && self.clusters.iter().any(|units| units.len() > 1)
    }

    /// p-value of the numbers of units: the share of draws with at least the same distance from the rule (Pearson's
    /// distance). `None` with fewer than two arms.
    #[must_use]
    pub fn p(&self) -> Option<f64> {
        let distance = |arms: &[Option<usize>]| Some(self.distance(arms));
        (self.arms.len() > 1).then(|| self.p_of(distance))
    }

    /// p-value of an event: the share of draws in which the affected shares of two arms differ at least as much. `None`
    /// if an arm has no unit.
    #[must_use]
    pub fn loss_p(&self, happened: &[bool], arms: [&str; 2]) -> Option<f64> {
        let index = |name| self.arms.iter().position(|arm| arm == name);
        let (treated, control) = (index(arms[0])?, index(arms[1])?);
        let share = |drawn: &[Option<usize>], arm| {
            let units = drawn.iter().zip(happened);
            let own = units.filter(|(drawn, _)| **drawn == Some(arm));
            let (lost, all) = own.fold((0_u32, 0_u32), |(lost, all), (_, happened)| {
                (lost + u32::from(*happened), all + 1)
            });
            (all > 0).then(|| f64::from(lost) / f64::from(all))
        };
        let apart =
            |drawn: &[Option<usize>]| Some((share(drawn, treated)? - share(drawn, control)?).abs());
        apart(&self.own)?;
        Some(self.p_of(apart))
    }

    /// The share of draws that reach the observed value, including the observed draw (Phipson and Smyth).
    fn p_of(&self, size: impl Fn(&[Option<usize>]) -> Option<f64>) -> f64 {
        let own = size(&self.own).unwrap_or(0.0) * (1.0 - 1e-9);
        let mut drawn = self.own.clone();
        let mut random = fastrand::Rng::with_seed(self.seed());
        let mut reached = 0;
        for number in 1..=DRAWS {
            self.draw(&mut random, &mut drawn);
            // A draw with an empty arm cannot be compared. It counts against the effect.
            reached += u32::from(size(&drawn).is_none_or(|other| other >= own));
            if reached == ENOUGH {
                return f64::from(ENOUGH) / f64::from(number);
            }
        }
        f64::from(reached + 1) / f64::from(DRAWS + 1)
    }

    /// A seed derived from the fleet, so a fleet always has the same draws.
    fn seed(&self) -> u64 {
        let arms = self.own.iter().map(|arm| arm.map_or(0, |at| at as u64 + 1));
        // FNV-1a.
        arms.fold(SEED, |seed, arm| {
            (seed ^ arm).wrapping_mul(0x0100_0000_01b3)
        })
    }

    fn draw(&self, random: &mut fastrand::Rng, drawn: &mut [Option<usize>]) {
        for units in &self.clusters {
            let whole = random.usize(..self.arms.len());
            let shared = digits(random.f64());
            for &unit in units.iter().filter(|&&unit| self.own[unit].is_some()) {
                drawn[unit] = match &self.rule {
                    Rule::Clusters => Some(whole),
                    Rule::Units => Some(random.usize(..self.arms.len())),
                    Rule::Planned(rules) => {
                        rules
                            .rule_by(|draw| match draw {
                                Draw::Saturation => shared.clone(),
                                _ => digits(random.f64()),
                            })
                            .arm
                    }
                };
            }
        }
    }

    fn distance(&self, arms: &[Option<usize>]) -> f64 {
        let mut counts = vec![0.0; self.arms.len()];
        for &arm in arms.iter().flatten() {
            counts[arm] += 1.0;
        }
        let (total, whole): (f64, f64) = (counts.iter().sum(), self.weights.iter().sum());
        let expected = self.weights.iter().map(|weight| total * weight / whole);
        let parts = counts.iter().zip(expected);
        let parts = parts.filter(|(_, expected)| *expected > 0.0);
        parts
            .map(|(count, expected)| (count - expected).powi(2) / expected)
            .sum()
    }
}

/// The weights of the arms in a plan.
fn weights(plan: &Plan) -> Vec<f64> {
    if plan.saturation.is_empty() {
        return plan.arms.iter().map(|arm| arm.weight).collect();
    }
    let treated = plan.saturation.iter().sum::<f64>() / plan.saturation.len() as f64;
    vec![1.0 - treated, treated]
}

fn own(units: &[Unit], arms: &[String]) -> Vec<Option<usize>> {
    let index = |unit: &Unit| arms.iter().position(|arm| *arm == unit.arm);
    units.iter().map(index).collect()
}

fn grouped<K: Ord>(units: &[Unit], cluster: impl Fn(&Unit) -> K) -> Vec<Vec<usize>> {
    let mut clusters: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (at, unit) in units.iter().enumerate() {
        clusters.entry(cluster(unit)).or_default().push(at);
    }
    clusters.into_values().collect()
}
