//! The command line: its verbs.

use clap::{Parser, Subcommand};

use crate::cmd;

/// Do huge pages help a program on this machine or hurt it, by how much, and why?
#[derive(Debug, Parser)]
#[command(
    name = "hugewise",
    version,
    disable_help_subcommand = true,
    after_help = "Start with:  hugewise run -- ./your-program\n\
                  Exit codes:  0 done, 1 internal error, 2 usage, 3 a trial failed,\n\
                  \x20            4 the machine refuses what was required, 5 a --fail-if came true,\n\
                  \x20            130 interrupted",
    max_term_width = 100
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a command under several memory policies, compare, explain
    Run(Box<cmd::run::Arguments>),
    /// Report again from a record, or compare two records
    Report(cmd::report::Arguments),
    /// Speed of memory and of prefaulting by size of page, cell by cell
    Bench(Box<cmd::bench::Arguments>),
    /// Page walks, faults and huge pages of what runs, interval by interval
    Stat(Box<cmd::stat::Arguments>),
    /// Where TLB misses come from: mappings, page sizes, code (experimental)
    Misses(Box<cmd::misses::Arguments>),
    /// TLB misses of a command by page size, simulated without hardware counters
    Simulate(cmd::simulate::Arguments),
    /// How long the kernel stalls, and where: histograms of its own functions
    Trace(cmd::trace::Arguments),
    /// Make the memory of a running process huge, and prove it
    Collapse(cmd::collapse::Arguments),
    /// Why memory of a running process is huge or not, range by range
    Inspect(cmd::inspect::Arguments),
    /// Where page faults come from: kinds, latencies, call chains, shapes
    Faults(Box<cmd::faults::Arguments>),
    /// Run a command under one policy, without measuring
    Exec(cmd::exec::Arguments),
    /// What can be measured here, what will mislead, what to grant, how to undo
    Doctor(cmd::doctor::Arguments),
    /// Print the manual page of the program, or of a verb
    #[command(hide = true)]
    Man {
        /// The verb
        verb: Option<String>,
    },
    /// Print completions for a shell
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}
