//! Page faults: from single kernel events to a summary.
//!
//! [`Event`](crate::faults::Event)s go into an [`Analysis`](crate::faults::Analysis) in time order. It pairs starts
//! with ends, assigns each fault a [`FaultKind`](crate::faults::FaultKind), and counts the known
//! [`Shape`](crate::faults::Shape)s. The result is a [`FaultSummary`](crate::faults::FaultSummary), which is the same
//! for a live run and for a recording.
//!
//! To add a kind of fault, add a variant to `kind.rs`. To add a shape, add a variant to `shape.rs`, its counting to
//! `analysis.rs`, and its sentence to `sentences.rs`. Both need a known event stream in `tests/faults/kinds.rs` and a
//! workload in the laboratory.

mod analysis;
mod document;
mod event;
mod firefox;
pub(crate) mod flame;
mod kind;
mod latency;
mod page;
mod pprof;
/// Processes reconstructed from events: names, address spaces, and code.
pub mod processes;
mod reading;
mod reconcile;
mod sentences;
mod shape;
/// An address space reconstructed from events.
pub mod space;
/// Call chains, each stored once.
pub mod stacks;
mod summary;
mod unwatched;

pub use analysis::Analysis;
pub use event::{
    Accounted, Closing, Conditions, Counted, Event, Known, Map, Modes, Served, Sharing, Symbol,
    Weight,
};
pub use flame::render_flame;
pub use kind::FaultKind;
pub use latency::{Bar, Quantiles};
pub use reconcile::Books;
pub use shape::Shape;
pub use stacks::Weigh;
pub use summary::{FORMAT, FaultSummary, KindRow, NamedRow, Row, SiteRow};
pub use unwatched::{Unwatched, explanation};
