//! The machine for a monitoring system: one sample of its huge page state, as metric families.
//!
//! All data come from files that need no page table walk: a monitor must not cause the stalls that it shows. A part
//! that could not be read has no series; it is never shown as zero.
//!
//! To add a series of a kernel counter, add a row to `base::counter`; for another file, add a family to `families.rs`
//! and its reading to `linux/observe/export`.

mod collectors;
pub mod exposition;
mod extra_families;
mod extras;
mod families;
pub mod otlp;

pub use collectors::{families, mark_overdue};
pub use extras::{
    Cgroup, Effect, Experiment, Extras, FleetArm, GroupRule, Knowledge, MOST_CGROUPS,
    MOST_EXPERIMENTS, MOST_GROUPS, PointDurations, ProcessGroup, ProcessGroups,
};
