//! oha `--output-format json` (before 1.5 `-j`).
//!
//! Source: `schema.json` of oha. Times are in seconds. `errorDistribution` counts requests without an answer, and with
//! `-z` those cut off at the end, which are no failures.

use serde_json::Value;

use super::columns::Format;
use super::figures::Figures;
use super::json::{cells, document};
use super::{Load, LoadReport, ReadError};
use crate::run::plan::FailedBy;
use crate::run::trial::Pacing;

/// Oha's word for requests cut off by the end of the run.
const CUT_OFF: &str = "aborted due to deadline";

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let document = document(bytes)?;
    let part = |name: &str| {
        let found = document.get(name);
        found.ok_or_else(|| ReadError::of(name, "there is none; give oha --output-format json"))
    };
    let (summary, statuses) = (part("summary")?, counts(part("statusCodeDistribution")?));
    let errors = document
        .get("errorDistribution")
        .map(counts)
        .unwrap_or_default();
    let sum = |counts: &[(&str, u64)], fits: &dyn Fn(&str) -> bool| {
        let counts = counts.iter().filter(|it| fits(it.0)).map(|it| it.1);
        counts.fold(0, u64::saturating_add)
    };
    let answered = sum(&statuses, &|_| true);
    let refused = sum(&statuses, &|status| FailedBy::Status.fails(status));
    let unanswered = sum(&errors, &|error| error != CUT_OFF);
    let cells = [summary, part("latencyPercentiles")?]
        .into_iter()
        .flat_map(cells);
    let figures = Figures::of(Format::Oha, None, cells)?.load();
    Ok(LoadReport {
        loads: vec![Load {
            throughput: vec![figures.throughput.first().copied().unwrap_or_default()],
            requests: Some(answered),
            errors: Some(refused.saturating_add(unanswered)),
            sent: Some(answered.saturating_add(unanswered)),
            ..figures
        }],
        // With -q it sends at a fixed rate, but its output does not show this.
        pacing: Pacing::Unknown,
    })
}

fn counts(object: &Value) -> Vec<(&str, u64)> {
    let entries = object.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, count)| Some((name.as_str(), count.as_u64()?)))
        .collect()
}
