//! Every contact of hugewise with the kernel.
//!
//! This crate returns values: it never prints and never ends the process. Every path goes
//! through [`root::Root`], so that a frozen machine can stand in for the real one.

/// The machine as files, real or frozen.
pub mod root;

/// What went wrong, with the path and what was being done.
pub mod error;

/// Files below `/proc`: pure parsers, and readers on top of them.
pub mod proc;

/// Running a workload: suspended, running, ended; by a keeper that lets nothing escape.
pub mod spawn;

/// Observing one trial: before, during, at its end, and after.
pub mod collect;
