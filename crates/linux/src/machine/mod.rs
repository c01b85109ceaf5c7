//! The machine and this process on it.

/// Clocks.
pub mod clock;

pub mod closed;
/// How many files may be open.
pub mod descriptors;

/// Errors: the kind, the action and the path.
pub mod error;

pub(crate) mod fresh_memory;

/// User and groups of the workload.
pub mod identity;
pub mod lock;
pub mod number;

/// A process that is not our child.
pub mod process;

/// Rights that the program gives up.
pub mod rights;

/// The machine as files, real or frozen.
pub mod root;

/// Signal disposition and sender.
pub mod signal;

/// Whose turn it is on the machine.
pub mod turn;

/// The terminal at stdout.
pub mod terminal;
