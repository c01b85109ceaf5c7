//! An experiment: from the policies to the answer.
//!
//! This crate reads no file, clock or environment: all input from the machine is an argument.

/// The spine: policy, plan, metric, trial, record, stats, compare, cause, answer, report.
pub mod run;

/// Parsers for the request statistics printed by load generators and benchmarks.
pub mod loadgen;

#[cfg(test)]
mod changed_host;
#[cfg(test)]
mod test_host;

use hugewise_base as base;
use hugewise_text as text;
