//! Arms that take turns: the two turns of a pair are compared within their unit.

use std::collections::BTreeMap;

use serde::Serialize;

use super::detectable_effect::{Bar, Expected};
use super::randomisation_test::sign_p;
use super::scale::Scale;
use super::tally::{Tally, Turn};

/// What the pairs say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pairs {
    /// Mean difference of the two turns, treated less control, on the scale of the metric.
    pub effect: f64,
    /// Mean of the control's turns, on the scale of the metric.
    pub base: f64,
    /// Its standard error: the order of each pair was drawn alone.
    pub error: f64,
    /// Complete pairs.
    pub pairs: usize,
    /// p-value of no effect, from coins that were thrown again.
    pub p: f64,
    /// How far the first period of a turn still lies towards the turn before it, less the rest of
    /// the turn; below zero where what was before carries over.
    pub carry_over: Option<f64>,
    /// p-value of no carry-over, of this metric alone.
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
            // Within a pair only the second turn is sure to follow the other arm.
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

/// The turns of which a pair is complete.
fn in_pairs<T>(turns: &BTreeMap<i64, T>) -> impl Iterator<Item = (&T, &T)> {
    let firsts = turns.iter().filter(|(number, _)| number.rem_euclid(2) == 0);
    firsts.filter_map(|(number, first)| Some((first, turns.get(&(number + 1))?)))
}

/// What the past says of an experiment in which each unit that has a past has `pairs` pairs of turns.
/// `None` with fewer than two pairs of the past.
///
/// A coin gives each difference its sign, so that the mean of the squares is the variance, also where
/// all units drift alike.
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

/// So many outcomes of the coins must lie within the level of a claim: with fewer the p-value moves in
/// steps that Student's distribution does not know.
const FEWEST: f64 = 4.0;

/// Whether an experiment has enough pairs for a promise.
#[must_use]
pub fn has_enough_pairs(expected: &Expected, bar: Bar) -> bool {
    let level = bar.level / bar.family.max(1) as f64;
    // One coin gives both signs of the whole: two outcomes that are equally far from zero.
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

    /// What they say of another such experiment.
    pub(super) fn again(&self) -> Option<Expected> {
        (self.error > 0.0).then(|| Expected {
            error: self.error,
            known_by: self.freedom(),
            freedom: self.freedom(),
        })
    }
}
