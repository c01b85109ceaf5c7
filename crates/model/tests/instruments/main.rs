//! The instruments, each from its events to what it prints.

#![expect(clippy::unwrap_used, reason = "a panic is a test that fails")]

mod faults;
mod misses;
mod simulation;
mod trace;
