//! One file or folder per verb.

pub mod advise;
pub mod attribute;
pub mod bench;
pub mod collapse;
pub mod completions;
pub mod doctor;
pub mod exec;
pub mod export;
pub mod faults;
pub mod fleet;
pub mod history;
pub mod inspect;
pub mod man;
pub mod misses;
pub mod report;
pub mod run;
pub mod simulate;
pub mod stat;
pub mod trace;
pub mod watch;
