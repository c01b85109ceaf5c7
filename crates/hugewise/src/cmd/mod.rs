//! One file or folder per verb.
//!
//! To add a verb, add a file here, a line to `cli/mod.rs` and `main.rs`, and its examples to `cli/examples.rs`.

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
