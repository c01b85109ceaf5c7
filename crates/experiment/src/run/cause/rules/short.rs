//! The workload is too short to say much.

use super::super::facts::too_short;
use super::super::{Context, Found, Kind, Outcome};

pub(in super::super) fn check(context: &Context<'_>) -> Vec<Found> {
    let found = too_short(context.record, context.table);
    let cause = found.map(|it| (None, Outcome::Shown, Kind::WorkloadTooShort(it)));
    cause.into_iter().collect()
}
