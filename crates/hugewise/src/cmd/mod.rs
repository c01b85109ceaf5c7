//! One file per verb.

/// `hugewise doctor`.
pub mod doctor;
/// `hugewise exec`.
pub mod exec;
/// `hugewise report`.
pub mod report;
/// `hugewise run`.
pub mod run;
/// `hugewise trace`.
pub mod trace;
