//! What huge pages would cost and what they could be worth to a running process, before
//! anything is switched on.
//!
//! Every number is a count of what was read, under an assumption that stands beside it. None
//! says how much faster the program would be: that is what `run` measures.

use serde::{Deserialize, Serialize};

mod bloat;
mod render;
mod worth;

pub use bloat::{Bloat, Growth, bloat};
pub use render::render_text;
pub use worth::{Extent, Fits, Need, UsedWhere, Worth, worth};

/// What can be said beforehand.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Forecast {
    /// Memory that huge pages would add.
    pub bloat: Bloat,
    /// Translations that huge pages would save.
    pub worth: Worth,
}
