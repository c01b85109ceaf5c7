//! An experiment, from its plan to its report: what `run` and `bench` do.

/// The cells of a bench, where the program has benches.
pub mod cells;

/// The plan: options on a host, checked.
pub mod plan;

/// Metrics that the user names.
pub mod metrics;

/// The command under a policy.
pub mod workload;

/// The surroundings of a command in a trial.
pub mod launch;

/// An experiment inside long runs.
pub mod inside;

/// What runtimes make of the settings of a policy.
pub mod runtimes;

/// Policies that cannot act on the program.
pub mod ineffective_policies;

/// `run --continue`.
pub mod continuation;

/// Failures of the first trials.
pub mod failures;

/// What a run would leave out.
pub mod predicted_drops;

/// `run --dry-run`.
pub mod preview;

/// Where an experiment begins.
pub mod beginning;

/// The whole experiment: apply, run, record, put back, report.
pub mod conduct;

/// The report, and what `--fail-if` makes of it.
pub mod report;

/// Our own stdin, for every trial.
pub mod stdin;

/// The record as a file.
pub mod recorder;

/// The records that lie in their usual place.
pub mod records;

/// Earlier records of the same experiment.
pub mod earlier;

/// What a program can be told itself, beside a report.
pub mod own_setting;

mod announcement;
mod default_policies;
mod fragmentation;
mod free_memory;
mod latency_files;
pub mod progress;
mod progress_line;
pub mod rounds;
mod trial_output;
