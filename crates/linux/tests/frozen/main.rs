//! Machines that stand still: frozen as files, made of a list, or torn by chance.
//!
//! Tests that look at the running kernel, fork or count memory have processes of their own.

#![expect(clippy::unwrap_used, reason = "a test ends where something fails")]

mod bpf_ladder;
#[path = "../ground/mod.rs"]
mod ground;
mod hosts;
mod kernel_text;
mod machine;
mod parsers;
