//! Where misses of the TLB come from: samples of them with their addresses, added up by mapping,
//! by page and by function.
//!
//! [`Event`](crate::observe::misses::Event)s go into an [`Analysis`](crate::observe::misses::Analysis) in order of time;
//! what comes out is a [`Summary`](crate::observe::misses::Summary), the same for a live run and for a
//! recording. It answers one question: is it the memory that could be huge that misses?

mod absence;
mod analysis;
mod event;
mod reading;
mod render;
mod standing;
mod summary;
#[cfg(test)]
mod tests;

pub use absence::Absence;
pub use analysis::Analysis;
pub use event::{Access, Closing, Conditions, Event, Means, Miss, Own};
pub use reading::is_recording;
pub use render::{render_csv, render_markdown, render_text};
pub use standing::Standing;
pub use summary::{Conclusion, Row, Summary};
