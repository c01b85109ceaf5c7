//! One file per verb.

/// `hugewise doctor`.
pub mod doctor;
/// `hugewise exec`.
pub mod exec;
/// `hugewise inspect`.
pub mod inspect;
/// `hugewise report`.
pub mod report;
/// `hugewise run`.
pub mod run;
