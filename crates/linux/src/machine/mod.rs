//! The machine and this process on it.

/// Clocks.
pub mod clock;

pub mod closed;
/// The limit of open files.
pub mod descriptors;

/// Errors: the kind, the action and the path.
pub mod error;

pub(crate) mod fresh_memory;

/// User and groups of the workload.
pub mod identity;
pub mod lock;
pub mod number;

/// A process that need not be a child of this one.
pub mod process;

/// Drops privileges of the program.
pub mod rights;

/// The machine as files, real or frozen.
pub mod root;

/// Signal disposition and sender.
pub mod signal;

/// Coordinates the experiments on the machine.
pub mod turn;

/// The terminal at stdout.
pub mod terminal;
