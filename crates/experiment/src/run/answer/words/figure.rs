//! Figures of a claim in a single notation: the change with its sign, the interval in brackets.

use super::metric;
use crate::base::units::Unit;
use crate::run::answer::{Answer, Claim, Contrast, Covers, Effect};
use crate::run::compare::labels::effect_of_ratio;
use crate::text::ends::{percent_beside, percent_ends};
use crate::text::number::{Scaler, percent, percent_change, quantity};

/// Returns the effect with its sign: `−36.3 %`, `+78 MiB`, `−3.2 points`.
pub(in crate::run::answer) fn change(answer: &Answer, claim: &Claim) -> Option<String> {
    Some(match claim.effect? {
        Effect::Ratio(ratio) => effect_of_ratio(ratio),
        Effect::Difference(difference) => scaler(answer, claim).show_change(difference),
        Effect::Points(points) => format!("{} points", percent_change(points / 100.0)),
    })
}

/// Returns the interval in the unit of its effect: `[−71, −15]`. A range without a probability has no brackets.
pub(in crate::run::answer) fn interval(answer: &Answer, claim: &Claim) -> Option<String> {
    let ends = claim.interval?;
    let [low, high] = match claim.effect {
        None | Some(Effect::Ratio(_)) => percent_ends(ends.low - 1.0, ends.high - 1.0),
        Some(Effect::Points(_)) => percent_ends(ends.low / 100.0, ends.high / 100.0),
        // A zero difference has no unit before the interval.
        Some(Effect::Difference(size)) => {
            let scaler = scaler(answer, claim);
            [ends.low, ends.high].map(|end| match size == 0.0 || ends.covers == Covers::Range {
                true => scaler.show_change(end),
                false => scaler.bare_change(end),
            })
        }
    };
    let unit = match claim.effect {
        None | Some(Effect::Ratio(_)) => " %",
        Some(Effect::Points(_)) => " points",
        Some(Effect::Difference(_)) => "",
    };
    Some(match ends.covers {
        Covers::Verdict | Covers::Row | Covers::Starts | Covers::Sessions => {
            format!("[{low}, {high}]")
        }
        Covers::Range => format!("{low} to {high}{unit}"),
    })
}

/// Returns the effect and its interval: `−5.0 % [−17, +7]`.
pub(in crate::run) fn change_with_interval(answer: &Answer, claim: &Claim) -> String {
    let change = change(answer, claim).unwrap_or_else(|| "no figure".to_owned());
    let covers = claim.interval.map(|it| it.covers);
    match (interval(answer, claim), covers) {
        (Some(range), Some(Covers::Range)) => format!("{change} ({range})"),
        (Some(interval), _) => format!("{change} {interval}"),
        (None, _) => change,
    }
}

fn scaler(answer: &Answer, claim: &Claim) -> Scaler {
    let size = match claim.effect {
        Some(Effect::Difference(difference)) if difference != 0.0 => vec![difference],
        _ => claim
            .interval
            .map_or_else(Vec::new, |it| vec![it.low, it.high]),
    };
    Scaler::for_row(&unit(answer, &claim.contrast), &size)
}

/// Returns the unit of a metric.
pub(in crate::run::answer) fn unit(answer: &Answer, contrast: &Contrast) -> Unit {
    let facts = answer.metrics.get(&contrast.metric);
    facts.map_or(Unit::Other("".into()), |facts| facts.unit.clone())
}

/// Formats a time; whole seconds have no decimals.
pub(in crate::run::answer) fn seconds(seconds: f64) -> String {
    match seconds.fract() == 0.0 {
        true => format!("{seconds} s"),
        false => quantity(&Unit::Seconds, seconds),
    }
}

/// Returns a value with the unit of its metric.
pub(in crate::run::answer) fn value(answer: &Answer, contrast: &Contrast, value: f64) -> String {
    quantity(&unit(answer, contrast), value)
}

/// Returns the effect without a sign: `36 % less`.
pub(in crate::run::answer) fn less(answer: &Answer, claim: &Claim) -> String {
    let is_count = unit(answer, &claim.contrast) == Unit::Count;
    let (size, is_more) = match claim.effect {
        None => return "no figure for".to_owned(),
        Some(Effect::Ratio(ratio)) => {
            let share = (ratio - 1.0).abs();
            let width = claim.interval.map_or(0.0, |it| it.high - it.low);
            (format!("{} %", percent_beside(share, width)), ratio > 1.0)
        }
        Some(Effect::Difference(difference)) => (
            scaler(answer, claim).show(difference.abs()),
            difference > 0.0,
        ),
        Some(Effect::Points(points)) => {
            let size = percent(points.abs() / 100.0);
            (format!("{size} points"), points > 0.0)
        }
    };
    let word = match (is_more, is_count) {
        (true, _) => "more",
        (false, true) => "fewer",
        (false, false) => "less",
    };
    format!("{size} {word}")
}

/// Returns the effect as a phrase: `36 % less wall time`.
pub(in crate::run::answer) fn effect(answer: &Answer, claim: &Claim) -> String {
    format!(
        "{} {}",
        less(answer, claim),
        metric(answer, &claim.contrast)
    )
}
