//! Page faults, one by one: from what the kernel tells of each to what is said of all.
//!
//! [`Event`](crate::faults::Event)s go into an [`Analysis`](crate::faults::Analysis) in order of time. It pairs
//! beginnings with ends, says of each fault what [`FaultKind`](crate::faults::FaultKind) it was, and counts
//! the [`Shape`](crate::faults::Shape)s that have a name. What comes out is a
//! [`FaultSummary`](crate::faults::FaultSummary), which is the same for a live run and for a recording.
//!
//! To add a kind of fault, add a variant to `kind.rs`. To add a shape, add a variant to `shape.rs`, its counting to
//! `analysis.rs`, and its sentence to `sentences.rs`. Both need a known stream in `tests/faults/kinds.rs` and a workload in the laboratory.

mod analysis;
mod document;
mod event;
mod firefox;
pub(crate) mod flame;
mod kind;
mod latency;
mod page;
mod pprof;
/// The processes that events tell of: their names, their address spaces, and the code in them.
pub mod processes;
mod reading;
mod reconcile;
mod sentences;
mod shape;
/// An address space, as far as events tell of it.
pub mod space;
/// Call chains, each kept once.
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
