//! Address translation is not the bottleneck, or it may be, and what the cheapest translation could save at most.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{Kind, Outcome};
use crate::base::missing::Missing;
use crate::run::metric::MetricId;

/// The cost of address translation under the baseline.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Translation {
    /// The share of cycles with a page walk under way: an upper bound, because the core computes at the same time.
    pub at_most: Option<f64>,
    /// Its part by data.
    pub data: Option<f64>,
    /// Its part by code.
    pub code: Option<f64>,
    /// The smallest effect of interest; below it, translation is not the bottleneck.
    pub threshold: f64,
    /// Why there is no bound.
    pub uncounted: Option<Missing>,
    /// Data page walks, when their cycles were not counted.
    pub walks: Option<f64>,
    /// Data page walks per 1,000 instructions, which show the cost of none.
    pub walks_per_1000_instructions: Option<f64>,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    let read = |metric: MetricId| view.here(metric);
    let data = read(MetricId::DataWalkCyclesRatio);
    let code = read(MetricId::CodeWalkCyclesRatio);
    let errors = [&data, &code].map(|it| it.as_ref().err().map(|it| &it.reason));
    let is_unasked = |reason: &Missing| {
        matches!(
            reason,
            Missing::NotAsked | Missing::TrialFailed | Missing::NotRun
        )
    };
    let mut found = Translation {
        at_most: None,
        data: data.as_ref().ok().copied(),
        code: code.as_ref().ok().copied(),
        threshold: view.context.table.verdict.threshold,
        uncounted: errors.into_iter().flatten().next().cloned(),
        walks: None,
        walks_per_1000_instructions: None,
    };
    // An experiment without counters, or a record from before there were any.
    if errors.into_iter().flatten().any(is_unasked) {
        return Ok(None);
    }
    if let (Some(data), Some(code)) = (found.data, found.code) {
        found.at_most = Some((data + code).min(1.0));
        return Ok(Some((Outcome::Shown, Kind::Translation(found))));
    }
    let counted = read(MetricId::DtlbWalksTotal)
        .ok()
        .zip(read(MetricId::InstructionsTotal).ok());
    found.walks = counted.map(|(walks, _)| walks);
    found.walks_per_1000_instructions =
        counted.map(|(walks, instructions)| match instructions > 0.0 {
            true => walks / instructions * 1000.0,
            false => 0.0,
        });
    Ok(Some((Outcome::CannotTell, Kind::Translation(found))))
}
