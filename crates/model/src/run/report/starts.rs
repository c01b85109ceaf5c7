//! Servers that live for several trials: effects by start, beside those by round.

use super::Report;
use super::advice::best;
use super::conclusion::conclude;
use crate::run::compare::labels::{effect_of_ratio, label_of};
use crate::run::compare::{Starts, Statistic, starts};
use crate::text::document::Level;
use crate::text::wrap::{capitalised, plain};

/// The lines: which policies changed the deciding metric the same way in every start, and every
/// figure as a detail.
pub(super) fn lines(report: &Report<'_>) -> Vec<(Level, String)> {
    let found = of_all(report);
    let deciding: Vec<&Starts> = found.iter().filter(|it| decides(report, it)).collect();
    if report.other.is_some() || deciding.is_empty() {
        return Vec::new();
    }
    let of_policy = found.chunk_by(|one, next| one.policy == next.policy);
    let details = of_policy.map(|found| (Level::Detail, detail(report, found)));
    // Where no page changed, and nothing is better, there is no effect that other starts may have.
    let baseline = Some(report.table.verdict.baseline.as_str());
    let is_chosen = best(report).is_some_and(|best| Some(best) != baseline);
    let is_unchanged = !is_chosen && conclude(report).is_some_and(|it| it.policy.is_none());
    let level = match is_unchanged {
        true => Level::Detail,
        false => Level::First,
    };
    let first = (level, summary(report, &deciding));
    std::iter::once(first).chain(details).collect()
}

/// The effects by start, of every policy.
pub(super) fn of_all<'a>(report: &'a Report<'_>) -> &'a [Starts] {
    let verdict = &report.table.verdict;
    let work_out = || starts(report.record, &verdict.baseline, &verdict.metric);
    report.known.starts.get_or_init(work_out)
}

/// Whether it is about the metric of the verdict: of a counted one, its middle.
fn decides(report: &Report<'_>, starts: &Starts) -> bool {
    let middle = match starts.statistic {
        Statistic::Center => true,
        Statistic::Quantile(quantile) => quantile.share() <= 0.5,
    };
    middle && starts.metric == report.table.verdict.metric
}

/// Two starts change alike by chance in half of the cases.
const FEWEST_ALIKE: u32 = 3;

/// ` for these 2 starts`, where servers were started so few times that other starts may differ.
pub(super) fn scope(report: &Report<'_>) -> String {
    let deciding = of_all(report).iter().filter(|it| decides(report, it));
    let most = deciding.map(|it| it.starts).max();
    match most.filter(|most| *most < FEWEST_ALIKE) {
        None => String::new(),
        Some(0 | 1) => " for this start".to_owned(),
        Some(most) => format!(" for these {most} starts"),
    }
}

fn summary(report: &Report<'_>, deciding: &[&Starts]) -> String {
    let most = deciding.iter().map(|it| it.starts).max().unwrap_or(0);
    if most < FEWEST_ALIKE {
        let times = match most {
            0 | 1 => "once".to_owned(),
            most => format!("{most} times"),
        };
        return format!(
            "Each server was started {times}: other starts may differ. Five starts tell: use a smaller --rounds-per-start."
        );
    }
    // Fewer starts change alike by chance, and so may any number where no page changed.
    let telling = deciding.iter().filter(|it| it.starts >= FEWEST_ALIKE);
    let is_answered = |it: &&&Starts| !report.table.verdict.reasons.contains_key(&it.policy);
    let plan = &report.record.header.plan;
    let telling = telling.filter(|it| !plan.is_sham(&it.policy));
    let telling = telling.filter(|it| !report.changed_no_page(&it.policy));
    let telling = telling.filter(is_answered);
    let (all, some): (Vec<&Starts>, Vec<&Starts>) =
        telling.partition(|it| it.same_direction == it.starts);
    let ways = some.into_iter().chain(all).enumerate().map(|(at, it)| {
        let way = if it.ratio < 1.0 { "lower" } else { "higher" };
        let of_what = if at == 0 { " server starts" } else { "" };
        let policy = plain(&it.policy);
        format!(
            "{way} in {} of {}{of_what} with {policy}",
            it.same_direction, it.starts
        )
    });
    let ways: Vec<String> = ways.collect();
    if ways.is_empty() {
        return format!("Each policy had {most} server starts.");
    }
    let metric = label_of(report.record, &deciding[0].metric, Statistic::Center);
    format!("{} was {}.", capitalised(&metric), ways.join(", "))
}

/// Every figure of one policy.
fn detail(report: &Report<'_>, found: &[Starts]) -> String {
    let figure = |it: &Starts| {
        let label = label_of(report.record, &it.metric, it.statistic);
        let effect = effect_of_ratio(it.ratio);
        if it.starts < 2 {
            return format!("{label} {effect}");
        }
        format!(
            "{label} {effect} ({} to {}, same direction in {} of {})",
            effect_of_ratio(it.low),
            effect_of_ratio(it.high),
            it.same_direction,
            it.starts
        )
    };
    let figures: Vec<String> = found.iter().map(figure).collect();
    format!(
        "Starts under {}: {}.",
        plain(&found[0].policy),
        figures.join("; ")
    )
}
