//! What too few rounds show, and what taking it for true assumes.

use super::super::Report;
use super::sentence_label;
use crate::run::compare::labels::metric_of;
use crate::run::compare::{Provisional, Scale};
use crate::run::metric::Metric;
use crate::text::number::{Scaler, counted, percent_change};

/// `Provisional (2 rounds; at least 6 decide): wall time −7.9 to −7.1 %, lower in 2 of 2 rounds.`
pub(super) fn sentence(report: &Report<'_>, policy: &str) -> Option<String> {
    let all = report.table.verdict.provisional.get(policy)?;
    let first = all.first()?;
    // Beside the metric that decides, only what all rounds agree on is worth a word.
    let worth = |(at, it): &(usize, &Provisional)| *at == 0 || it.same_direction == it.rounds;
    let shown = all.iter().enumerate().filter(worth).map(|(_, it)| it);
    let effects: Vec<String> = shown.clone().map(|it| effect(report, it)).collect();
    let agrees = |it: &Provisional| it.rounds > 1 && it.same_direction == it.rounds;
    let assumed = match shown.clone().any(agrees) {
        true => " So few rounds may agree by chance.",
        false => "",
    };
    let rounds = counted(first.rounds.into(), "round");
    Some(format!(
        "Provisional ({rounds}; at least {} decide): {}.{assumed}",
        first.needed,
        effects.join("; "),
    ))
}

/// `user time −8.1 to −7.6 %, lower in 2 of 2 rounds`.
fn effect(report: &Report<'_>, shown: &Provisional) -> String {
    let metric = metric_of(report.record, &shown.metric);
    let label = sentence_label(&metric);
    let range = range(&metric, shown);
    if shown.rounds < 2 {
        return format!("{label} {range}");
    }
    let origin = match shown.scale {
        Scale::Ratio => 1.0,
        Scale::Difference => 0.0,
    };
    let way = if shown.estimate < origin {
        "lower"
    } else {
        "higher"
    };
    format!(
        "{label} {range}, {way} in {} of {} rounds",
        shown.same_direction, shown.rounds
    )
}

/// From the smallest effect of a round to the largest.
fn range(metric: &Metric, shown: &Provisional) -> String {
    let (least, most) = (shown.least, shown.most);
    match shown.scale {
        Scale::Ratio if shown.rounds < 2 => format!("{} %", percent_change(shown.estimate - 1.0)),
        Scale::Ratio => format!(
            "{} to {} %",
            percent_change(least - 1.0),
            percent_change(most - 1.0)
        ),
        Scale::Difference => {
            let scaler = Scaler::for_row(&metric.unit, &[least, most]);
            format!(
                "{} to {}",
                scaler.show_change(least),
                scaler.show_change(most)
            )
        }
    }
}
