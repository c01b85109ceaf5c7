//! One file or folder per verb.
//!
//! To add a verb, add a file here, a line to `cli/mod.rs` and `main.rs`, and its examples to `cli/examples.rs`.

#[cfg(feature = "advise")]
pub mod advise;
#[cfg(feature = "attribute")]
pub mod attribute;
#[cfg(feature = "bench")]
pub mod bench;
pub mod collapse;
pub mod completions;
pub mod doctor;
pub mod exec;
#[cfg(feature = "monitor")]
pub mod export;
pub mod faults;
#[cfg(feature = "fleet")]
pub mod fleet;
pub mod history;
mod inside;
pub mod inspect;
#[cfg(feature = "live")]
pub mod live;
pub mod man;
#[cfg(feature = "tlb")]
pub mod misses;
pub mod report;
pub mod run;
#[cfg(feature = "tlb")]
pub mod simulate;
pub mod stat;
pub mod trace;
#[cfg(feature = "monitor")]
pub mod watch;
