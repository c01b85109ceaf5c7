//! Verification of hardware events: loops of the laboratory with a known number of TLB misses, the count of each event
//! in each loop, and the decision.
//!
//! To add a loop, add a row to `loops`. To add a kind of event, add its counts by construction to `expect`.

pub mod decide;
pub mod expect;
pub mod loops;

mod absence;
mod document;
mod result;

pub use absence::VerificationAbsence;
pub use result::{FORMAT, Identity, Planned, VerificationResult, verification};
