//! Why memory is not huge: one reason for every huge-page range of an address space, with its evidence, its fix and its
//! certainty.
//!
//! Each reason has a line in `code.rs`, in the order in which reasons are tried (the first match wins), and a row in
//! the file of its family. Two rules keep the reasons honest. Policy is the *current* state, while the state of pages
//! is *history*: if they disagree, both are reported ([`Judgement::still`](crate::inspect::reasons::Judgement::still)).
//! If reasons cannot be distinguished without more capabilities, all of them are listed ([`Certainty::OneOf`]); nothing
//! is guessed.
//!
//! To add a reason, add a line to `code.rs` at its place in the order, and its row to the file of its family. A test
//! fails until `tests/reason/cases.rs` creates such memory.

mod allocation;
mod allocator;
mod code;
mod decide;
mod explain;
mod file;
mod growth;
mod history;
mod judge;
mod judgement;
mod khugepaged;
mod large_folios;
mod mapping;
mod owner;
mod range;
mod row;
mod setting;
mod settings;
mod state;
mod tables;
mod totals;

pub use allocator::ADVICE_VARIABLES;
pub use code::Code;
pub use growth::{StepwiseGrowth, recognise_growth};
pub use judge::{Wording, judge};
pub use judgement::{Certainty, Judgement, Obstacle};
pub use row::State;
pub use settings::{CgroupMemory, Settings};
