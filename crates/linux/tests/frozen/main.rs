//! Tests without a running kernel: on frozen files, simulated kernels and damaged input.
//!
//! Tests that read the running kernel, fork or count memory have separate processes.

#![expect(clippy::unwrap_used, reason = "a test ends where something fails")]

mod bpf_ladder;
#[path = "../ground/mod.rs"]
mod ground;
mod hosts;
mod kernel_text;
mod machine;
mod parsers;
