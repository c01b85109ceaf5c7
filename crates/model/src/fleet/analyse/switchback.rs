//! Arms that take turns: the two turns of a pair are compared within their unit.

use serde::Serialize;

use super::lot::sign_p;
use super::scale::Scale;
use super::tally::{Tally, Turn};

/// What the pairs say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pairs {
    /// Mean difference of the two turns, treated less control, on the scale of the metric.
    pub effect: f64,
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
    let (mut differences, mut carried) = (Vec::new(), Vec::new());
    for means in tally.metrics.get(metric)?.values() {
        for (&number, first) in means.turns.range(..) {
            let second = means.turns.get(&(number + 1));
            let Some(second) = second.filter(|_| number.rem_euclid(2) == 0) else {
                continue;
            };
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
            // Within a pair only the second turn is sure to follow the other arm.
            carried.extend(lag(second, scale).map(|lag| -sign * lag));
        }
    }
    let (effect, error) = mean_and_error(&differences)?;
    let carry = mean_and_error(&carried);
    Some(Pairs {
        effect,
        error,
        pairs: differences.len(),
        p: sign_p(&differences, draws, SEED),
        carry_over: carry.map(|(mean, _)| mean),
        carry_over_p: carry.map(|_| sign_p(&carried, draws, SEED)),
    })
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
}
