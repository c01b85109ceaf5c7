//! Huge pages made the program larger.

use serde::Serialize;

use super::super::context::{MissingInput, Told, View};
use super::super::{Kind, Outcome, Pair};
use crate::run::compare::Change;
use crate::run::metric::MetricId;

const PEAK: MetricId = MetricId::PeakRssBytes;
const HUGE: MetricId = MetricId::HugeAnonPeakBytes;

/// The part of the additional huge memory that a sibling may have.
const HARDLY: f64 = 0.05;

/// Growth of peak memory beside huge memory.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct MemoryBloat {
    /// Growth of peak memory, in bytes.
    pub growth_bytes: f64,
    /// Anonymous memory in huge pages, in bytes.
    pub huge_bytes: Pair,
    /// The part of the growth that comes with huge pages, in bytes, when it is shown.
    pub by_huge_pages_bytes: Option<f64>,
    /// Returns true when huge pages cannot have added as much.
    pub is_beyond: bool,
    /// An arm that sets the same except for huge pages, when this arm changes more than pages.
    pub sibling: Option<Sibling>,
}

/// An arm that sets the same except for huge pages, and has hardly any of them.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Sibling {
    /// Its name.
    pub name: String,
    /// Its growth of peak memory over the baseline, in bytes.
    pub growth_bytes: f64,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    if !view.rose(PEAK) {
        return Ok(None);
    }
    let growth = view.both(PEAK)?.change();
    let huge_bytes = view.both(HUGE)?;
    let more = huge_bytes.change();
    let other = view.context.settings(view.context.baseline());
    let is_of_pages = view.context.settings(view.arm).is_sibling_of(&other);
    let sibling = match is_of_pages || more <= 0.0 {
        true => None,
        false => sibling(view, more)?,
    };
    let (outcome, by_huge_pages_bytes, is_beyond) = match &sibling {
        _ if more <= 0.0 => (Outcome::NotShown, None, false),
        _ if is_of_pages => by_pages(more, growth),
        None => (Outcome::CannotTell, None, more < growth),
        Some(it) if is_larger(view, &it.name) => by_pages(more, growth - it.growth_bytes),
        Some(it) => (undecided(view, &it.name), None, false),
    };
    let found = MemoryBloat {
        growth_bytes: growth,
        huge_bytes,
        by_huge_pages_bytes,
        is_beyond,
        sibling,
    };
    Ok(Some((outcome, Kind::MemoryBloat(found))))
}

/// Returns the outcome for growth that can only come with so much more huge memory.
fn by_pages(more: f64, growth: f64) -> (Outcome, Option<f64>, bool) {
    match more < growth {
        true => (Outcome::CannotTell, None, true),
        false => (Outcome::Shown, Some(growth), false),
    }
}

/// Returns the outcome beside a sibling that is not shown to be smaller.
fn undecided(view: &View<'_, '_>, sibling: &str) -> Outcome {
    match view.context.comparison(PEAK, sibling).map(|it| it.change) {
        Some(Change::Higher) => Outcome::NotShown,
        _ => Outcome::CannotTell,
    }
}

/// Returns true when peak memory rose beyond that of another arm, both by their own intervals.
///
/// One of two equal peaks may be the larger in every round, by a little.
fn is_larger(view: &View<'_, '_>, other: &str) -> bool {
    let comparison = |arm: &str| view.context.comparison(PEAK, arm);
    let low = comparison(view.arm).and_then(|it| it.low);
    let high = comparison(other).and_then(|it| it.high);
    let threshold = view.context.table.verdict.threshold;
    low.zip(high)
        .is_some_and(|(low, high)| low - high > threshold)
}

fn sibling(view: &View<'_, '_>, more: f64) -> Result<Option<Sibling>, MissingInput> {
    let own = view.context.settings(view.arm);
    let before = view.there(HUGE)?;
    let policies = view.context.policies().iter();
    let others = policies.filter(|it| it.name != view.arm && it.settings.is_sibling_of(&own));
    let huge = others.filter_map(|it| {
        let huge = view.context.medians.get(&it.name, HUGE).ok()?;
        (huge - before <= more * HARDLY).then_some((huge, &it.name))
    });
    let Some((_, name)) = huge.min_by(|(one, _), (other, _)| one.total_cmp(other)) else {
        return Ok(None);
    };
    Ok(Some(Sibling {
        growth_bytes: view.median(name, PEAK)? - view.there(PEAK)?,
        name: name.clone(),
    }))
}
