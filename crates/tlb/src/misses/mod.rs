//! The origin of TLB misses: their sampled addresses by mapping, page size and function.
//!
//! [`Event`](crate::misses::Event)s go into an [`Analysis`](crate::misses::Analysis) in order of time; the result is a
//! [`Summary`](crate::misses::Summary), live or from a recording. It answers if the misses are in memory eligible for
//! huge pages.

mod absence;
mod analysis;
mod csv;
mod document;
mod eligibility;
mod event;
mod reading;
mod summary;

pub use absence::Absence;
pub use analysis::Analysis;
pub use eligibility::Eligibility;
pub use event::{AccessKind, Closing, Conditions, Event, Miss, MissEvent};
pub use hugewise_base::facility::Facility;
pub use reading::is_recording;
pub use summary::{Conclusion, MissShare, Summary};
