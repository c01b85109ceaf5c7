//! An experiment inside long runs, where this program has the verb `live`.

#[cfg(feature = "live")]
mod known;
#[cfg(feature = "live")]
pub use known::{go_on, scout, switchbacks};

#[cfg(not(feature = "live"))]
mod without;
#[cfg(not(feature = "live"))]
pub use without::{go_on, scout, switchbacks};
