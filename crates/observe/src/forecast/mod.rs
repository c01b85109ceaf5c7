//! The cost and possible benefit of huge pages for a running process, before anything is enabled.
//!
//! Every figure is a count with its assumption. No figure predicts a speed-up; `run` measures that.

use serde::{Deserialize, Serialize};

mod bloat;
mod document;
mod worth;

pub use bloat::{Bloat, MemoryGrowth, bloat};
pub use worth::{Extent, Fits, Need, ProcessorTime, UsedWhere, Worth, worth};

/// Cost and possible benefit of huge pages.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Forecast {
    /// Memory that huge pages would add.
    pub bloat: Bloat,
    /// TLB entries that huge pages would save.
    pub worth: Worth,
}
