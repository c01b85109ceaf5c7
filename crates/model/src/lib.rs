//! The pure part of hugewise.
//!
//! Nothing here reads a file, a clock or the environment: what is needed from the machine
//! is an argument. The rooms, each importing only those above it and what its line names:

/// Units, reasons for absence, the machine, histograms, recordings.
pub use hugewise_base as base;

/// Text: tables, numbers, wrapping. Imports `base`.
pub use hugewise_text as text;

/// The spine: policy, plan, metric, trial, record, stats, compare, cause, answer, report.
pub mod run;

/// What load generators and benchmarks print of their requests, parsed.
pub mod loadgen;

