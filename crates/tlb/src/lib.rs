//! The TLB: misses sampled by the processor, and a model of it under a program's accesses.

/// Sampled addresses of TLB misses, by mapping, page size and function.
pub mod misses;
/// A model of the TLB under a program's accesses.
pub mod simulation;
