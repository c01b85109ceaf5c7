//! What huge pages would cost a running process, and what they could gain, before anything is
//! switched on.
//!
//! Every number is a count with its assumption beside it. None says how much faster the program
//! would be: `run` measures that.

use serde::{Deserialize, Serialize};

mod bloat;
mod document;
mod worth;

pub use bloat::{Bloat, MemoryGrowth, bloat};
pub use worth::{Extent, Fits, Need, ProcessorTime, UsedWhere, Worth, worth};

/// Cost and gain of huge pages beforehand.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Forecast {
    /// Memory that huge pages would add.
    pub bloat: Bloat,
    /// TLB entries that huge pages would save.
    pub worth: Worth,
}
