//! One file per verb.

/// `hugewise collapse`.
pub mod collapse;
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
/// `hugewise stat`.
pub mod stat;
