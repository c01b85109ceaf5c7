//! Arms that take turns: the two turns of a pair are compared within their unit.

use std::collections::BTreeMap;

use serde::Serialize;

use super::detectable_effect::{Bar, Expected};
use super::randomisation_test::sign_p;
use super::scale::Scale;
use super::tally::{Tally, Turn};

/// The result of the pairs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pairs {
    /// Mean difference of the two turns, treated minus control, on the scale of the metric.
    pub effect: f64,
    /// Mean of the control's turns, on the scale of the metric.
    pub base: f64,
    /// Its standard error; the order of each pair was drawn independently.
    pub error: f64,
    /// Complete pairs.
    pub pairs: usize,
    /// p-value of no effect, by redrawing the order of each pair.
    pub p: f64,
    /// Carry-over: how far the first period of a turn deviates from the rest towards the previous turn. Below zero if
    /// the previous arm still has an effect.
    pub carry_over: Option<f64>,
    /// p-value of no carry-over, for this metric only.
    pub carry_over_p: Option<f64>,
}

const SEED: u64 = 0x7475_726e;

/// The pairs of a metric under two arms, the control first. `None` with fewer than two complete pairs.
#[must_use]
pub fn pairs(
    tally: &Tally,
    metric: &str,
    [control, treated]: [&str; 2],
    draws: u32,
) -> Option<Pairs> {
    let scale = tally.scale(metric);
    let (mut differences, mut carried, mut base) = (Vec::new(), Vec::new(), 0.0);
    for means in tally.metrics.get(metric)?.values() {
        for (first, second) in in_pairs(&means.turns) {
            let sign = match (first.arm.as_str(), second.arm.as_str()) {
                (one, other) if one == treated && other == control => 1.0,
                (one, other) if one == control && other == treated => -1.0,
                _ => continue,
            };
            let of = |turn: &Turn| scale.of(&turn.all());
            let Some((one, other)) = of(first).zip(of(second)) else {
                continue;
            };
            differences.push(sign * (one - other));
            base += if sign > 0.0 { other } else { one };
            // Within a pair, only the second turn certainly follows the other arm.
            carried.extend(lag(second, scale).map(|lag| -sign * lag));
        }
    }
    let (effect, error) = mean_and_error(&differences)?;
    let carry = mean_and_error(&carried);
    Some(Pairs {
        effect,
        base: base / differences.len() as f64,
        error,
        pairs: differences.len(),
        p: sign_p(&differences, draws, SEED),
        carry_over: carry.map(|(mean, _)| mean),
        carry_over_p: carry.map(|_| sign_p(&carried, draws, SEED)),
    })
}

/// The turns that belong to complete pairs.
fn in_pairs<T>(turns: &BTreeMap<i64, T>) -> impl Iterator<Item = (&T, &T)> {
    let firsts = turns.iter().filter(|(number, _)| number.rem_euclid(2) == 0);
    firsts.filter_map(|(number, first)| Some((first, turns.get(&(number + 1))?)))
}

/// The forecast from pre-period values, for an experiment with `pairs` pairs of turns per unit. `None` with fewer than
/// two pairs in the pre-period.
///
/// A coin gives each difference its sign, so the mean of the squares is the variance, even if all units drift in the
/// same way.
#[must_use]
pub fn foresee(tally: &Tally, metric: &str, pairs: u64) -> Option<Expected> {
    let scale = tally.scale(metric);
    let units = tally.metrics.get(metric)?.values();
    let (mut squares, mut known, mut enrolled) = (0.0, 0, 0);
    for turns in units.map(|means| &means.past_turns) {
        enrolled += u64::from(!turns.is_empty());
        for (first, second) in in_pairs(turns) {
            if let Some((one, other)) = scale.of(first).zip(scale.of(second)) {
                squares += (one - other).powi(2);
                known += 1;
            }
        }
    }
    let planned = (enrolled * pairs) as f64;
    (known >= 2 && planned >= 2.0).then(|| Expected {
        error: (squares / f64::from(known) / planned).sqrt(),
        known_by: f64::from(known - 1),
        freedom: planned - 1.0,
    })
}

/// The minimum number of coin outcomes within the level of a claim. With fewer, the p-value moves in steps that
/// Student's distribution does not model.
const FEWEST: f64 = 4.0;

/// Returns true if an experiment has enough pairs for a forecast.
#[must_use]
pub fn has_enough_pairs(expected: &Expected, bar: Bar) -> bool {
    let level = bar.level / bar.family.max(1) as f64;
    // One coin determines the sign of all, so two outcomes are equally far from zero.
    level * expected.freedom.exp2() >= FEWEST
}

fn lag(turn: &Turn, scale: Scale) -> Option<f64> {
    Some(scale.of(&turn.first)? - scale.of(&turn.rest)?)
}

fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (n >= 2.0).then(|| (mean, (squares / (n * (n - 1.0))).sqrt()))
}

impl Pairs {
    /// Degrees of freedom of the error.
    #[must_use]
    pub fn freedom(&self) -> f64 {
        self.pairs as f64 - 1.0
    }

    /// The expectation for another experiment of the same kind.
    pub(super) fn again(&self) -> Option<Expected> {
        (self.error > 0.0).then(|| Expected {
            error: self.error,
            known_by: self.freedom(),
            freedom: self.freedom(),
        })
    }
}
