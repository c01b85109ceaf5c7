//! Words for the lasting effect inside servers, next to the effect of whole starts.

use super::{by, change_with_interval, effect, metric};
use crate::run::answer::{Answer, Word};
use crate::text::number::{chosen_percent, counted};

/// The heading of the rows that compare servers started under each policy.
pub(in crate::run::answer) const WHOLE_STARTS: &str = "Whole starts, under each policy";

/// Returns the heading of the rows that compare periods in the same process.
pub(in crate::run::answer) fn heading(inside: &Answer) -> String {
    format!(
        "Inside {}, periods of huge or small pages under load",
        starts(inside)
    )
}

/// Returns the sentence below the headline: `Lasting effect inside 3 starts: 17.5 % more commands per CPU second.`
pub(in crate::run::answer) fn headline(inside: &Answer) -> String {
    let claim = inside.headline.first().map(|id| inside.claim(*id));
    let claim = claim.filter(|claim| claim.effect.is_some());
    let what = claim.map_or_else(
        || "not measured".to_owned(),
        |claim| {
            let by = by(inside, &claim.contrast.arm);
            let metric = metric(inside, &claim.contrast);
            let threshold = chosen_percent(inside.judged.threshold);
            match inside.word {
                Word::Help | Word::Hurt => format!("{} {by}", effect(inside, claim)),
                Word::NoDifference => format!("{metric} stays within ±{threshold} % {by}"),
                _ => {
                    let figures = change_with_interval(inside, claim);
                    format!("not decided for {metric}, {figures} {by}")
                }
            }
        },
    );
    format!("Lasting effect inside {}: {what}.", starts(inside))
}

fn starts(inside: &Answer) -> String {
    let starts = inside.switchback.as_ref().map_or(0, |it| it.starts);
    counted(starts.into(), "start")
}
