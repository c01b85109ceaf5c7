//! Every contact of hugewise with the kernel.
//!
//! This crate returns values: it never prints and never ends the process. Every path goes
//! through [`root::Root`], so that a frozen machine can stand in for the real one.

/// The machine as files, real or frozen.
pub mod root;

/// What went wrong, with the path and what was being done.
pub mod error;

/// Files that hold one number.
pub mod number;

/// Readers of `/proc`.
pub mod proc;

/// Readers of `/sys`.
pub mod sys;

/// What the machine is, and what can be done on it.
pub mod probe;
