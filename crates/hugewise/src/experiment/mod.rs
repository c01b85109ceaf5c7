//! An experiment, from its plan to its report: the core of `run` and `bench`.

/// The cells of a bench, if the program is built with benches.
pub mod cells;

/// The plan: options on a host, checked.
pub mod plan;

/// Metrics that the user names.
pub mod metrics;

/// The command under a policy.
pub mod workload;

/// The surroundings of a command in a trial.
pub mod launch;

/// What runtimes make of the settings of a policy.
pub mod runtimes;

/// Policies that cannot act on the program.
pub mod ineffective_policies;

/// `run --continue`.
pub mod continuation;

/// Failures of the first trials.
pub mod failures;

/// The policies that a run would drop.
pub mod predicted_drops;

/// `run --dry-run`.
pub mod preview;

/// The start of an experiment.
pub mod beginning;

/// The whole experiment: apply, run, record, restore, report.
pub mod code_pages;
pub mod conduct;

/// The report and its `--fail-if` conditions.
pub mod report;

/// Our own stdin, for every trial.
pub mod stdin;

/// The record as a file.
pub mod recorder;

/// The records in their usual place.
pub mod records;

/// Earlier records of the same experiment.
pub mod earlier;

/// The program's own setting, as advice in a report.
pub mod own_setting;

/// The files of policies in the page cache.
pub mod file_cache;

/// The tmpfs of a policy: whether it can be mounted, and what it hides.
pub mod own_mount;

mod announcement;
mod default_policies;
mod fragmentation;
mod free_memory;
mod latency_files;
pub mod progress;
mod progress_line;
pub mod rounds;
mod trial_output;
