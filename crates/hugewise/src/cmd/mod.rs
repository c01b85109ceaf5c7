//! One file per verb.

/// `hugewise bench`.
pub mod bench;
/// `hugewise collapse`.
pub mod collapse;
/// `hugewise doctor`.
pub mod doctor;
/// `hugewise exec`.
pub mod exec;
/// `hugewise report`.
pub mod faults;
/// `hugewise inspect`.
pub mod inspect;
pub mod report;
/// `hugewise run`.
pub mod run;
/// `hugewise stat`.
pub mod stat;
/// `hugewise trace`.
pub mod trace;
