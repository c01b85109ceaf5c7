//! Counts the results of stops.

use std::time::Duration;

use hugewise_experiment::run::trial::{Collapsing, Tracing};

use super::schedule::{Schedule, Target};
use crate::machine::clock::nanoseconds;
use crate::machine::error::name_of_number;

/// Returns the counts before the first stop: zero for each target.
pub(super) fn nothing(schedule: &Schedule) -> Tracing {
    let mut tracing = Tracing::default();
    for target in schedule.targets() {
        of(&mut tracing, target);
    }
    tracing
}

/// Returns the counts of a target.
pub(super) fn of(tracing: &mut Tracing, target: Target) -> &mut Collapsing {
    let counted = match target {
        Target::Data => &mut tracing.collapsing,
        Target::Text => &mut tracing.text,
    };
    counted.get_or_insert_default()
}

/// One stop of a thread.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) held: Duration,
    /// Bytes collapsed.
    pub(super) huge: u64,
    /// Bytes not collapsed.
    pub(super) refused: u64,
    pub(super) result: Result<(), i32>,
}

impl Stop {
    pub(super) fn add_to(&self, counted: &mut Collapsing) {
        counted.calls += 1;
        counted.bytes += self.huge;
        counted.held_ns += nanoseconds(self.held);
        counted.longest_ns = counted.longest_ns.max(nanoseconds(self.held));
        if self.refused > 0 {
            let error = self.result.err();
            let name = error.map_or_else(|| "none".to_owned(), name_of_number);
            *counted.refused.entry(name).or_default() += self.refused;
        }
    }
}
