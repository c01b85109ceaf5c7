//! What a cell says of a change: its size, its interval, its tone.

use super::interval::bracketed;
use super::notes::{DIFFERENCE, SAME, UNKNOWN};
use crate::run::compare::labels::effect_text;
use crate::run::compare::{Change, Comparison, Scale};
use crate::run::metric::Better;
use crate::text::Tone;
use crate::text::number::Scaler;

/// How much is said of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// The change without the value that it leads to.
    ChangeAlone,
    Change,
    Interval,
    Test,
}

/// A p-value: three digits are more than a sample of this size knows.
pub(super) fn p_text(p: f64) -> String {
    if p < 0.001 {
        "p<0.001".to_owned()
    } else {
        format!("p={p:.3}")
    }
}

pub(super) fn tone(better: Better, change: Change) -> Tone {
    match (better, change) {
        (Better::Lower, Change::Lower) | (Better::Higher, Change::Higher) => Tone::Good,
        (Better::Lower, Change::Higher) | (Better::Higher, Change::Lower) => Tone::Bad,
        _ => Tone::Plain,
    }
}

/// The change, whatever may be said of it: with its interval where that is not decided, or is wide.
pub(super) fn change_text(comparison: &Comparison, scaler: &Scaler, detail: Detail) -> String {
    if comparison.ratio.or(comparison.difference).is_none() {
        return String::new();
    }
    let effect = match comparison.change {
        Change::NoDifference if is_none(comparison) => SAME.to_owned(),
        Change::NoDifference => format!("{SAME}, {}", marked_effect(comparison, scaler)),
        _ => marked_effect(comparison, scaler),
    };
    let is_open = comparison.change == Change::CannotTell;
    let is_told = is_open || (comparison.change != Change::NoDifference && is_wide(comparison));
    let is_asked = matches!(detail, Detail::Interval | Detail::Test);
    let is_nothing = |end: Option<f64>| end.is_some_and(|end| scaler.show_change(end) == "0");
    if comparison.ratio.is_none() && is_nothing(comparison.low) && is_nothing(comparison.high) {
        return SAME.to_owned();
    }
    match bracketed(comparison, scaler) {
        Some(interval) if is_told || is_asked => format!("{effect} {interval}"),
        None if is_open => format!("{effect} {UNKNOWN}"),
        _ => effect,
    }
}

/// An interval that reaches farther from a change than this share of it is told with it.
const NARROW: f64 = 0.1;

/// Whether the interval says more of a change than its digits do.
fn is_wide(comparison: &Comparison) -> bool {
    let Some((low, high)) = comparison.low.zip(comparison.high) else {
        return false;
    };
    // Absolute changes are counts and bytes, whose intervals take more room than they tell.
    let ratio = comparison.ratio;
    ratio.is_some_and(|ratio| (high / low).ln() / 2.0 > NARROW * ratio.ln().abs())
}

/// Whether the change is none at all.
fn is_none(comparison: &Comparison) -> bool {
    let rounded = |ratio: f64| (ratio - 1.0).abs() < 0.000_05;
    comparison.ratio.is_some_and(rounded) || comparison.difference == Some(0.0)
}

/// Whether a figure is shown from which that of the two values beside it differs by more than a
/// tenth, and by what is of interest.
pub(super) fn is_apart(comparison: &Comparison, threshold: f64) -> bool {
    let (Some(before), Some(after)) = (comparison.baseline_value, comparison.policy_value) else {
        return false;
    };
    let (shown, between, least) = match (comparison.ratio, comparison.difference) {
        (Some(ratio), _) => (ratio.ln(), (after / before).ln(), threshold.ln_1p()),
        (None, Some(difference)) => (difference, after - before, threshold * before.abs()),
        (None, None) => return false,
    };
    comparison.change != Change::NoDifference
        && (between - shown).abs() > (shown.abs() / 10.0).max(least)
}

fn marked_effect(comparison: &Comparison, scaler: &Scaler) -> String {
    let mark = match comparison.scale {
        Scale::Difference => DIFFERENCE,
        Scale::Ratio => "",
    };
    format!("{mark}{}", effect_text(comparison, scaler))
}
