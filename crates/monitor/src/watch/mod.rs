//! The machine and its processes as a screen, live or from a recording.
//!
//! Samples and keys go in, and a screen comes out: the state holds the current tab, the selected process, the sort
//! order and the filter. Nothing here draws on a terminal.
//!
//! To add a tab, add a variant of `Tab` and a file in `view/`. A key is a line in `keys.rs`; a counter is a row of
//! `hugewise_base::counter`.

mod history;
mod keys;
mod rates;
mod recording;
mod rows;
mod sample;
mod state;
mod tab;
mod trend;
mod view;

#[cfg(test)]
mod tests;

pub use keys::{Action, BINDINGS, Binding, Key};
pub use recording::{Line, Recording, parse};
pub use sample::{Header, HugeMemory, Process, Processes, Sample};
pub use state::{Look, Pace, Request, State};
pub use tab::Tab;
pub use view::{Body, List, SMALLEST, Screen};
