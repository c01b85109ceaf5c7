//! Words of causes.

use crate::run::cause::Cause;

/// Returns a cause as one clause.
pub(in crate::run) fn brief(cause: &Cause) -> String {
    full(cause)
}

/// Returns a cause with its figures.
pub(in crate::run) fn full(cause: &Cause) -> String {
    let arm = cause.arm.as_deref().unwrap_or("the experiment");
    format!("{arm}: {:?}", cause.outcome)
}
