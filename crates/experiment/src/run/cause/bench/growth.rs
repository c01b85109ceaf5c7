//! A heap that grows by less than a huge page, and is used as it grows, gets no huge page.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{Kind, Outcome};
use super::cells::{each, largest, of_suite};
use crate::run::cells::Cell;
use crate::run::cells::suite::HUGE;

/// At most this share counts as nothing huge, at least that one as much.
const HARDLY: f64 = 0.05;
const MUCH: f64 = 0.5;

/// Heaps of `bench growth` that begin on a boundary and are used at once.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct GrowthBelowHugePage {
    /// The size of a huge page, in bytes.
    pub huge_page_bytes: u64,
    /// The step below it with the most huge memory, in bytes.
    pub step_below_bytes: u64,
    /// The share of that heap that became huge.
    pub share_below: f64,
    /// The least step of whole huge pages with much huge memory, in bytes.
    pub step_whole_bytes: u64,
    /// The share of that heap that became huge.
    pub share_whole: f64,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    let bench = of_suite(view.context, "growth");
    let (Some(bench), Some(huge)) = (bench, view.context.host().pmd_bytes()) else {
        return Ok(None);
    };
    let used = |cell: &&Cell| cell.part(2) == Some("aligned") && cell.part(3) == Some("at-once");
    let step = |cell: &Cell| cell.number(1).unwrap_or(0);
    let cells = || bench.cells.iter().filter(used);
    let below = each(view, cells().filter(|cell| step(cell) < huge), HUGE)?;
    let whole = each(view, cells().filter(|cell| step(cell) >= huge), HUGE)?;
    let much = whole.iter().filter(|(_, share)| *share >= MUCH);
    let least = much.min_by_key(|(cell, _)| step(cell)).copied();
    let both = largest(&below).zip(least.or(largest(&whole)));
    let Some(((most, share_below), (best, share_whole))) = both else {
        return Ok(None);
    };
    let found = GrowthBelowHugePage {
        huge_page_bytes: huge,
        step_below_bytes: step(most),
        share_below,
        step_whole_bytes: step(best),
        share_whole,
    };
    // Under small pages there is no question.
    if share_whole < MUCH && share_below < MUCH {
        return Ok(None);
    }
    let outcome = Outcome::shown_if(share_below <= HARDLY && share_whole >= MUCH);
    Ok(Some((outcome, Kind::GrowthBelowHugePage(found))))
}
