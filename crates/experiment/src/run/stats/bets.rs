//! Bets on the shuffle: how large an effect is, at every moment and after any look.
//!
//! In each round the shuffle dealt two or three places to the policy and to the one or two runs
//! of the baseline. If the policy shifts every value by exactly θ, then without that shift all
//! values of a round are alike, and each was as likely to be the policy's as any other, whatever
//! the machine did meanwhile. So a bet on which value is the policy's is fair: its wealth is a
//! martingale that begins at one, and the chance that it *ever* reaches k is at most 1 / k
//! (Ville, 1939). A θ whose bet reached k is refuted; the θ that were never refuted are a
//! confidence sequence (Howard, Ramdas, McAuliffe and Sekhon, 2021; Waudby-Smith and Ramdas,
//! 2024, for betting). It holds at any time of stopping, also one chosen by looking.
//!
//! A group-sequential test of re-randomised sums spends less, but has to know its looks
//! beforehand, and a record could not be continued.

mod running_median;
mod wealth;

use super::quantile::median_in_place;
use crate::base::bisect::{Precision, bisect};
use running_median::RunningMedian;
pub(super) use wealth::log_mean_exp;
use wealth::{Quarters, Scored, Table};

/// What is dealt in one round, on the scale of the comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// Value under the policy.
    pub policy: f64,
    /// Value of the baseline.
    pub baseline: f64,
    /// Value of the second run of the baseline, where both runs succeeded.
    pub control: Option<f64>,
}

impl Draw {
    /// The policy less the middle of the baseline.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.policy - self.baseline_mean()
    }

    /// The runs of the baseline.
    pub fn baselines(&self) -> impl Iterator<Item = f64> + use<> {
        std::iter::once(self.baseline).chain(self.control)
    }

    /// The mean over the runs of the baseline.
    #[must_use]
    pub fn baseline_mean(&self) -> f64 {
        match self.control {
            Some(control) => f64::midpoint(self.baseline, control),
            None => self.baseline,
        }
    }
}

/// Which way an effect goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The effect is below the shift that is bet against.
    Below,
    /// It is above.
    Above,
}

/// The logarithms of the largest wealth that the bets against one shift ever had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wealth {
    below: f64,
    above: f64,
}

impl Wealth {
    /// The logarithm of the largest wealth of the bet on one side.
    #[must_use]
    pub fn log(&self, side: Side) -> f64 {
        match side {
            Side::Below => self.below,
            Side::Above => self.above,
        }
    }

    /// Two-sided p-value, valid at any time.
    #[must_use]
    pub fn p(&self) -> f64 {
        (2.0 * (-self.below.max(self.above)).exp()).min(1.0)
    }
}

/// The rounds of one policy.
#[derive(Clone, Debug)]
pub struct Bets<'a> {
    draws: &'a [Draw],
}

/// Powers of two of the spread of the differences at which the end of an interval is looked for: from an
/// eighth to 1,024 times it.
const STEPS: std::ops::RangeInclusive<i32> = -3..=10;
/// Halvings that lead to an estimate.
const HALVINGS: u32 = 60;
/// The ends of intervals are found to this part of their distance from the estimate.
const PRECISION: f64 = 1e-3;

impl<'a> Bets<'a> {
    /// Bets on these rounds, in the order in which they were run.
    #[must_use]
    pub fn on(draws: &'a [Draw]) -> Self {
        Self { draws }
    }

    /// The wealth of the bets against `shift`.
    #[must_use]
    pub fn against(&self, shift: f64) -> Wealth {
        let [below, above] = self.settled(shift).map(|table| table.most());
        Wealth { below, above }
    }

    /// The logarithm of the wealth that one bet may have after `rounds` more, if it goes on as
    /// it did, with two standard errors in its favour.
    #[must_use]
    pub fn hope(&self, shift: f64, side: Side, rounds: u32) -> f64 {
        let [below, above] = self.settled(shift);
        let table = match side {
            Side::Below => below,
            Side::Above => above,
        };
        table.most().max(table.after(rounds))
    }

    /// All rounds, settled on both sides.
    fn settled(&self, shift: f64) -> [Table; 2] {
        let mut tables = [Side::Below, Side::Above].map(Table::of);
        for round in self.quarters(shift) {
            tables.iter_mut().for_each(|table| table.settle(&round));
        }
        tables
    }

    /// Whether the bet against `shift` ever had the wealth exp(`needed`) on one side. Rounds after
    /// the one that shows it are not looked at: an interval asks this dozens of times.
    fn refutes(&self, shift: f64, side: Side, needed: f64) -> bool {
        let mut table = Table::of(side);
        self.quarters(shift).any(|round| {
            table.settle(&round);
            table.most() >= needed
        })
    }

    /// The shift that leaves the policy in the middle of its rounds; `None` without a round.
    #[must_use]
    pub fn estimate(&self) -> Option<f64> {
        let differences = || self.draws.iter().map(Draw::difference);
        let (low, high) = bisect(
            differences().reduce(f64::min)?,
            differences().reduce(f64::max)?,
            Precision::halvings(HALVINGS),
            |shift| self.lead(shift) <= 0.0,
        );
        let most = differences().map(f64::abs).fold(0.0, f64::max);
        let estimate = f64::midpoint(low, high);
        // What the search left of zero is none.
        Some(if estimate.abs() > 1e-9 * most {
            estimate
        } else {
            0.0
        })
    }

    /// The shifts that no bet refuted at wealth exp(`needed`) on its side, as a closed interval;
    /// `None` while the rounds are too few to refute any.
    #[must_use]
    pub fn interval(&self, needed: f64) -> Option<(f64, f64)> {
        self.interval_around(self.estimate()?, needed)
    }

    /// The same, where the estimate is known.
    #[must_use]
    pub fn interval_around(&self, estimate: f64, needed: f64) -> Option<(f64, f64)> {
        let low = self.limit(estimate, Side::Above, needed)?;
        let high = self.limit(estimate, Side::Below, needed)?;
        Some((low, high))
    }

    /// The shift nearest to the estimate that is refuted on `side`, outwards.
    fn limit(&self, estimate: f64, side: Side, needed: f64) -> Option<f64> {
        let refuted = |shift: f64| self.refutes(shift, side, needed);
        if refuted(estimate) {
            return Some(estimate);
        }
        let sign = match side {
            Side::Above => -1.0,
            Side::Below => 1.0,
        };
        let spread = self.spread(estimate);
        if spread <= estimate.abs() * 1e-12 {
            // All rounds are alike, to the last bit: there is one shift or none.
            return refuted(estimate + sign * (estimate.abs() + 1.0)).then_some(estimate);
        }
        let mut near = estimate;
        let mut steps = STEPS.map(|power| estimate + sign * (spread * 2_f64.powi(power)));
        let far = steps.find(|&far| {
            let is_refuted = refuted(far);
            if !is_refuted {
                near = far;
            }
            is_refuted
        })?;
        let precision = Precision::width((far - estimate).abs() * PRECISION);
        let (near, mut far) = bisect(near, far, precision, refuted);
        // The end is a little farther out than it must be. Zero is what decides: where it is refuted,
        // the interval does not contain it either.
        if near * far <= 0.0 && near != 0.0 && refuted(0.0) {
            far = near / 1e6;
        }
        Some(far)
    }

    /// How far the differences, and the runs of the baseline, lie from each other.
    fn spread(&self, estimate: f64) -> f64 {
        let differences = self.draws.iter().map(Draw::difference);
        let apart = differences.map(|it| (it - estimate).abs());
        let baselines = self
            .draws
            .iter()
            .filter_map(|draw| Some((draw.baseline - draw.control?).abs()));
        apart.chain(baselines).fold(0.0, f64::max)
    }

    /// By how much the policy's scores exceed those of the baseline, summed.
    fn lead(&self, shift: f64) -> f64 {
        let rounds: Vec<Scored> = self.rounds(shift).collect();
        let mut distances: Vec<f64> = rounds.iter().flat_map(Scored::distances).collect();
        let scale = median_in_place(&mut distances).unwrap_or(1.0);
        rounds.iter().map(|round| round.lead(scale)).sum()
    }

    fn rounds(&self, shift: f64) -> impl Iterator<Item = Scored> {
        let draws = self.draws.iter();
        draws.map(move |draw| Scored::of(draw, shift))
    }

    /// The scores of all rounds, each on the scale that is known by then.
    fn quarters(&self, shift: f64) -> impl Iterator<Item = Quarters> {
        let mut distances = RunningMedian::default();
        self.rounds(shift).map(move |round| {
            round.distances().for_each(|it| distances.push(it));
            let scale = distances.middle().unwrap_or(1.0);
            Quarters::of(&round, scale)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is refuted is refuted at the first round that shows it: later rounds change nothing.
        #[test]
        fn a_shift_is_refuted_where_its_bet_ever_won_enough(
            values in proptest::collection::vec(proptest::array::uniform3(-3.0_f64..3.0), 1..60),
            shift in -4.0_f64..4.0, needed in 0.1_f64..6.0, effect in -4.0_f64..4.0,
        ) {
            let draw = |[policy, baseline, control]: &[f64; 3]| Draw {
                policy: policy + effect,
                baseline: *baseline,
                control: (*control > -2.0).then_some(*control),
            };
            let draws: Vec<Draw> = values.iter().map(draw).collect();
            let bets = Bets::on(&draws);
            for side in [Side::Below, Side::Above] {
                let whole = bets.against(shift).log(side) >= needed;
                prop_assert_eq!(bets.refutes(shift, side, needed), whole);
            }
        }
    }
}
