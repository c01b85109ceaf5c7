//! The instruments, each from its events to what it prints.

mod faults;
mod misses;
mod simulation;
mod trace;
