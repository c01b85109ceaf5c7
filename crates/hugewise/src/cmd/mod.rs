//! One file or folder per verb.

/// `hugewise bench`.
pub mod bench;

/// `hugewise collapse`.
pub mod collapse;

/// `hugewise completions`.
pub mod completions;

/// `hugewise doctor`.
pub mod doctor;

/// `hugewise exec`.
pub mod exec;

/// `hugewise faults`.
pub mod faults;

/// `hugewise inspect`.
pub mod inspect;

/// `hugewise man`.
pub mod man;

/// `hugewise misses`.
pub mod misses;

/// `hugewise report`.
pub mod report;

/// `hugewise run`.
pub mod run;

/// `hugewise simulate`.
pub mod simulate;

/// `hugewise stat`.
pub mod stat;

/// `hugewise trace`.
pub mod trace;
