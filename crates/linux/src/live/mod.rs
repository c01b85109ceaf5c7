//! The pages of a running process, switched between huge and small ones and back.
//!
//! [`switch()`] switches blocks of a [`Member`]. [`Keeper`] puts them back, also after a kill. `hugewise-live` chooses
//! blocks and sizes calls. Nothing is stopped, and no content changes.

mod count;
mod cpu;
mod file;
mod keeper;
mod member;
mod own;
mod room;
mod switch;
#[cfg(test)]
mod tests;
mod urgent;

pub use count::{Counts, instructions, probe_hits, static_hits, system_calls};
pub use cpu::{CpuUsage, ProcessorTime};
pub use keeper::{KEEPER_WORD, Keeper, keeper_main};
pub use member::{Member, Unfit};
pub use own::{NoSplit, SplitMeans, SwitchPrice, find_split, switch_price};
pub use room::{Room, Short};
pub use switch::{Halt, Pages, Switched, Watch, Work, switch};
