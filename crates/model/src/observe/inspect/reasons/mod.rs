//! Why memory is not huge: for every huge-page range of an address space one reason, with
//! what was read, what would repair it, and how sure that is.
//!
//! Reasons come from one list, [`Code`](crate::observe::inspect::reasons::Code), in the order in which they are asked: the first that
//! matches is the reason. Two laws keep them honest. Policy is what holds *now*, the state of
//! pages is *history*: where they disagree, both are told ([`Judgement::still`](crate::observe::inspect::reasons::Judgement::still)). And what
//! cannot be told apart with the rights at hand is named as one of several
//! ([`Certainty::OneOf`](crate::observe::inspect::reasons::Certainty::OneOf)), never guessed.

mod code;
mod evidence;
mod growth;
mod judge;
mod judgement;
mod range;
mod repair;
mod rules;
mod settings;
mod story;
mod tables;
mod totals;

pub use code::Code;
pub use growth::{Growth, recognise_growth};
pub use judge::{Told, judge};
pub use judgement::{Certainty, Judgement, Still};
pub use settings::{CgroupMemory, Settings};
pub use story::Story;
