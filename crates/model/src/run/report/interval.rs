//! The interval of a change, as a sentence and as a cell give it.

use crate::run::compare::Comparison;
use crate::run::metric::Metric;
use crate::text::ends::percent_ends;
use crate::text::number::{Scaler, percent_change, three_digits};

/// Whether an interval keeps its signs. In `19.8 % less` the word is the sign.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Kept,
    Left,
}

/// `19 to 21 %`, for a sentence.
pub(super) fn interval(metric: &Metric, comparison: &Comparison, sign: Sign) -> Option<String> {
    let (low, high) = (comparison.low?, comparison.high?);
    let scaler = Scaler::for_row(&metric.unit, &[low, high]);
    let [low, high] = match (comparison.ratio, sign) {
        (Some(ratio), Sign::Left) if ratio < 1.0 => percent_ends(1.0 - high, 1.0 - low),
        _ => ends(comparison, &scaler)?,
    };
    Some(match (comparison.ratio, sign) {
        (Some(ratio), _) if ratio >= FACTOR => format!("{low} to {high}"),
        (Some(_), Sign::Left) => format!("{low} to {high} %").replace('+', ""),
        (Some(_), Sign::Kept) => format!("{low} to {high} %"),
        (None, _) => format!("{low} to {high}"),
    })
}

/// `[−21, −19]`, for a cell, whose change has the unit. One that is no wider than the last digit of
/// the change says nothing.
pub(super) fn bracketed(comparison: &Comparison, scaler: &Scaler) -> Option<String> {
    let (least, most) = (comparison.low?, comparison.high?);
    let is_seen = match comparison.ratio {
        Some(_) => percent_change(least - 1.0) != percent_change(most - 1.0),
        None => scaler.show_change(least) != scaler.show_change(most),
    };
    // A change of 0 has no unit.
    let has_unit = |change: f64| comparison.ratio.is_none() && scaler.show_change(change) != "0";
    let [low, high] = match comparison.difference.is_some_and(has_unit) {
        true => [least, most].map(|end| scaler.bare_change(end)),
        false => ends(comparison, scaler)?,
    };
    is_seen.then(|| format!("[{low}, {high}]"))
}

/// From here on a ratio is told as a factor.
const FACTOR: f64 = 10.0;

fn ends(comparison: &Comparison, scaler: &Scaler) -> Option<[String; 2]> {
    let (low, high) = (comparison.low?, comparison.high?);
    Some(match comparison.ratio {
        Some(ratio) if ratio >= FACTOR => [low, high].map(three_digits),
        Some(_) => percent_ends(low - 1.0, high - 1.0),
        None => [low, high].map(|end| scaler.show_change(end)),
    })
}
