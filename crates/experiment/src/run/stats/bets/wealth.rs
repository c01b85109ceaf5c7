//! The wealth of the bets: scores of the values of a round, what each stake returns, and sums.

use std::array;
use std::iter::zip;

use super::{Draw, Side};

/// How boldly is bet: 1, 2, 4, 8 and 32 quarters ([`powers`]). The wealth is the mean over these, so
/// that small effects and large ones both earn.
const STAKES: usize = 5;

/// A forecast allows so many standard errors in favour of a decision: with one, three in four of the
/// experiments that would have found 3 % in noise of 5 % go on, with two, nineteen in twenty.
const FAVOUR: f64 = 2.0;

/// The values of one round without the shift, from their middle; the policy's is the first.
pub(super) struct Scored {
    values: [f64; 3],
    n: usize,
}

impl Scored {
    pub(super) fn of(draw: &Draw, shift: f64) -> Self {
        let mut values = [draw.policy - shift, draw.baseline, 0.0];
        let n = match draw.control {
            Some(control) => {
                values[2] = control;
                3
            }
            None => 2,
        };
        let middle = middle(&values[..n]);
        values[..n].iter_mut().for_each(|value| *value -= middle);
        Self { values, n }
    }

    /// Those that are not zero: how far values usually lie from the middle of their round. Each
    /// is known without knowing which value is the policy's.
    pub(super) fn distances(&self) -> impl Iterator<Item = f64> {
        let all = self.values.into_iter().take(self.n);
        all.map(f64::abs).filter(|distance| *distance > 0.0)
    }

    /// Near the middle the distance in units of the usual one; far ones count no more than near
    /// ones, so that a burst is one vote.
    pub(super) fn score(&self, index: usize, scale: f64) -> f64 {
        match self.values[index] {
            // The middle one of three, always.
            0.0 => 0.0,
            value => (value / (1.5 * scale)).tanh(),
        }
    }

    pub(super) fn lead(&self, scale: f64) -> f64 {
        let others: f64 = (1..self.n).map(|index| self.score(index, scale)).sum();
        self.score(0, scale) - others / (self.n - 1) as f64
    }
}

fn middle(values: &[f64]) -> f64 {
    match values {
        [a, b, c] => a.max(*b).min(a.min(*b).max(*c)),
        _ => values.iter().sum::<f64>() / values.len() as f64,
    }
}

/// exp(score / 4) of the values of one round, the policy's first: what all bets on it are made of.
pub(super) struct Quarters {
    values: [f64; 3],
    n: usize,
}

impl Quarters {
    pub(super) fn of(round: &Scored, scale: f64) -> Self {
        let values = [0, 1, 2].map(|index| match index < round.n {
            true => (round.score(index, scale) / 4.0).exp(),
            false => 0.0,
        });
        Self { values, n: round.n }
    }

    /// What each stake returns on one side, as logarithms. The bet pays in proportion to
    /// exp(stake × score) of the value that was the policy's; what it pays is one on average over the
    /// values that it could have been.
    fn payoffs(&self, side: Side) -> [f64; STAKES] {
        let (mut own, mut sums) = ([0.0; STAKES], [0.0; STAKES]);
        for (index, quarter) in self.values[..self.n].iter().enumerate() {
            let powers = match side {
                Side::Below => powers(*quarter).map(f64::recip),
                Side::Above => powers(*quarter),
            };
            if index == 0 {
                own = powers;
            }
            zip(&mut sums, powers).for_each(|(sum, power)| *sum += power);
        }
        let n = self.n as f64;
        array::from_fn(|stake| (own[stake] / sums[stake] * n).ln())
    }
}

/// To the power of each stake.
fn powers(quarter: f64) -> [f64; STAKES] {
    let square = |value: f64| value * value;
    let two = square(quarter);
    let four = square(two);
    let eight = square(four);
    [quarter, two, four, eight, square(square(eight))]
}

/// The running sums of all stakes on one side.
pub(super) struct Table {
    side: Side,
    rounds: u32,
    sums: [Sum; STAKES],
    /// The largest wealth so far: nothing was won before the first round.
    most: f64,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    total: f64,
    squares: f64,
}

impl Table {
    pub(super) fn of(side: Side) -> Self {
        Self {
            side,
            rounds: 0,
            sums: Default::default(),
            most: 0.0,
        }
    }

    pub(super) fn settle(&mut self, round: &Quarters) {
        self.rounds += 1;
        for (sum, payoff) in self.sums.iter_mut().zip(round.payoffs(self.side)) {
            sum.total += payoff;
            sum.squares += payoff * payoff;
        }
        let totals = self.sums.map(|sum| sum.total);
        // A mean is never above the largest of what it is of.
        if totals.iter().any(|total| *total > self.most) {
            self.most = self.most.max(log_mean_exp(&totals));
        }
    }

    /// The logarithm of the largest wealth so far: the mean over all stakes.
    pub(super) fn most(&self) -> f64 {
        self.most
    }

    /// The logarithm of the wealth after `rounds` more that go on as these did, with favour.
    pub(super) fn after(&self, rounds: u32) -> f64 {
        if self.rounds == 0 {
            return f64::INFINITY;
        }
        let (n, more) = (f64::from(self.rounds), f64::from(rounds));
        log_mean_exp(&self.sums.map(|sum| {
            let mean = sum.total / n;
            let variance = (sum.squares / n - mean * mean).max(0.0);
            sum.total + more * (mean + FAVOUR * (variance / n).sqrt())
        }))
    }
}

/// The logarithm of the mean of numbers whose logarithms are given.
pub fn log_mean_exp(logs: &[f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::MIN, f64::max);
    let sum: f64 = logs.iter().map(|log| (log - largest).exp()).sum();
    largest + (sum / logs.len() as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each value of a round is the policy's with the same chance: what the bet pays is one on
        /// average over them, whatever the values are.
        #[test]
        fn a_bet_is_fair(
            values in proptest::array::uniform3(-1e3_f64..1e3), scale in 1e-3_f64..1e3, pair: bool,
        ) {
            let n = if pair { 2 } else { 3 };
            let rounds = (0..n).map(|policy| {
                let mut turned = values;
                turned[..n].rotate_left(policy);
                let control = (!pair).then_some(turned[2]);
                let draw = Draw { policy: turned[0], baseline: turned[1], control };
                Quarters::of(&Scored::of(&draw, 0.0), scale)
            });
            let rounds: Vec<Quarters> = rounds.collect();
            for stake in 0..STAKES {
                for side in [Side::Below, Side::Above] {
                    let payoffs = rounds.iter().map(|it| it.payoffs(side)[stake].exp());
                    let mean = payoffs.sum::<f64>() / n as f64;
                    prop_assert!((mean - 1.0).abs() < 1e-9, "{mean}");
                }
            }
        }
    }
}
