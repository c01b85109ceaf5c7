//! An experiment: from the policies to the answer.
//!
//! Nothing here reads a file, a clock or the environment: what is needed from the machine
//! is an argument.

/// The spine: policy, plan, metric, trial, record, stats, compare, cause, answer, report.
pub mod run;

/// What load generators and benchmarks print of their requests, parsed.
pub mod loadgen;

#[cfg(test)]
mod changed_host;
#[cfg(test)]
mod test_host;

use hugewise_base as base;
use hugewise_text as text;
