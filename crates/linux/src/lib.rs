//! Every contact of hugewise with the kernel.
//!
//! This crate returns values: it never prints and never ends the process. Every path goes
//! through [`root::Root`], so that a frozen machine can stand in for the real one.

/// The machine as files, real or frozen.
pub mod root;

/// What went wrong, with the path and what was being done.
pub mod error;

/// Policies in force: files written after they are journalled, read back, put back.
pub mod apply;

/// One experiment at a time on a machine.
pub mod lock;

/// The journal of old values, and what brings them back after a kill.
pub mod undo;
