//! The rules about programs by their subjects. A rule opens with the claim; `explain.toml` has the evidence.

pub(super) mod kernel;
pub(super) mod memory;
pub(super) mod program;
pub(super) mod same_pages;
pub(super) mod slow_requests;
