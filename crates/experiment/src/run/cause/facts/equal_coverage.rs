//! Arms with another allocator or environment that did not change how much was huge.

use serde::Serialize;

use super::super::context::View;
use super::super::{Context, Pair, coverage};
use crate::run::compare::{Answer, Table};
use crate::run::record::Record;

/// Huge memory under an arm that changes more than pages.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct SameCoverage {
    /// Bytes at the peak.
    pub huge_bytes: Pair,
    /// Huge pages made at faults, machine-wide.
    pub huge_faults: Option<Pair>,
    /// Returns true when at most one huge page or 1 % of peak memory differs: an effect then has another cause.
    pub is_equal: bool,
}

/// Returns `None` for an arm that changes pages alone, and when huge memory was not read.
#[must_use]
pub fn equal_coverage(record: &Record, table: &Table, arm: &str) -> Option<SameCoverage> {
    let context = Context::new(record, table);
    let other = context.settings(context.baseline());
    let is_of_pages = context.settings(arm).differs_only_in_pages(&other);
    let is_answered = context.answer(arm) == Some(Answer::NoEffect);
    if record.header.plan.is_sham(arm) || is_of_pages || is_answered {
        return None;
    }
    let view = View {
        context: &context,
        arm: context
            .policies()
            .iter()
            .find(|it| it.name == arm)?
            .name
            .as_str(),
    };
    let covered = coverage::compare(&view).ok()?;
    Some(SameCoverage {
        huge_bytes: covered.bytes,
        huge_faults: covered.faults,
        is_equal: covered.is_equal,
    })
}
