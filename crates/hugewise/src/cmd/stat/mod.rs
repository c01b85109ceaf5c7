//! `hugewise stat`: what address translation, faults and huge pages cost, interval by interval.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use hugewise_linux::root::Root;
use hugewise_linux::stat::plan::Events;
use hugewise_model::base::units::parse_duration;
use hugewise_model::observe::stat::Mode;

use crate::cli::Output;
use crate::exit::{self, Exit};
use crate::options::parse_interval;

mod list;
mod live;
mod misses;
mod replay;
mod simulate;
mod sink;

/// Flags of `stat`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without a target the whole machine is observed until Ctrl-C.\n\
                  Columns: walk% share of cycles with a page walk in progress (upper bound);\n\
                  dTLB, iTLB page walks per 1000 instructions; per second: page faults, huge\n\
                  pages from faults, failed huge faults, huge pages collapsed by khugepaged,\n\
                  compaction stalls; huge% share of memory that is huge; free free huge blocks;\n\
                  † machine-wide.",
    group(clap::ArgGroup::new("target").args(["pid", "all", "cgroup", "command", "list", "replay"]))
)]
pub struct Arguments {
    /// The command and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    /// Observe a process, its threads and descendants
    #[arg(short, long, value_name = "PID", help_heading = "What to observe")]
    pid: Option<u32>,

    /// Observe the whole machine
    #[arg(short, long, help_heading = "What to observe")]
    all: bool,

    /// Observe a cgroup, by its path below the mount
    #[arg(long, value_name = "GROUP", help_heading = "What to observe")]
    cgroup: Option<String>,

    /// A line for each interval of this length
    #[arg(short = 'I', long, value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    interval: Duration,

    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Count these events besides cycles and instructions: names of --list or of perf list, or `all`
    #[arg(
        short,
        long = "event",
        value_name = "EVENT",
        value_delimiter = ',',
        help_heading = "What to count"
    )]
    events: Vec<String>,

    /// Count in this mode: user, kernel, both, guest [default: as permitted]
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "MODE",
        help_heading = "What to count"
    )]
    mode: Option<ModeWord>,

    /// Print the events of this processor, and what each reading needs
    #[arg(long)]
    list: bool,

    /// Draw a recording (--format json, --json FILE, or --where --out FILE) again
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,

    /// Show what the command prints, on stderr
    #[arg(long, help_heading = "What to observe")]
    show: bool,

    /// Sample where misses of the TLB come from: mappings, page sizes, code
    #[arg(
        long = "where",
        conflicts_with_all = ["list", "replay", "events", "mode", "simulate"],
        help_heading = "Where misses come from"
    )]
    origins: bool,

    /// Take one sample in N events [default: as the hardware bears]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..=0x00ff_ffff),
        requires = "origins",
        help_heading = "Where misses come from"
    )]
    every: Option<u64>,

    /// Record every sample, one JSON document per line, for --replay
    #[arg(
        long,
        value_name = "FILE",
        requires = "origins",
        help_heading = "Where misses come from"
    )]
    out: Option<PathBuf>,

    /// Run the command under valgrind and simulate the TLB: needs no counters, and is slow
    #[arg(
        long,
        conflicts_with_all = ["pid", "all", "cgroup", "list", "replay", "events", "mode", "duration"],
        help_heading = "Simulation"
    )]
    simulate: bool,

    /// Simulate this processor: own, haswell, jaguar, neoverse-n1, skylake [default: own]
    #[arg(
        long,
        value_name = "NAME",
        requires = "simulate",
        help_heading = "Simulation"
    )]
    cpu: Option<String>,

    /// End the command after so many accesses, fetches of instructions included
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000_000,
        value_parser = clap::value_parser!(u64).range(1..),
        requires = "simulate",
        help_heading = "Simulation"
    )]
    max_accesses: u64,

    #[command(flatten)]
    output: Output,
}

/// The modes as words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeWord {
    /// User mode alone
    User,
    /// Kernel mode alone
    Kernel,
    /// User and kernel mode
    Both,
    /// Virtual machines on this host
    Guest,
}

impl From<ModeWord> for Mode {
    fn from(word: ModeWord) -> Self {
        match word {
            ModeWord::User => Self::User,
            ModeWord::Kernel => Self::Kernel,
            ModeWord::Both => Self::UserAndKernel,
            ModeWord::Guest => Self::Guest,
        }
    }
}

impl Arguments {
    fn events(&self) -> Events {
        match &self.events[..] {
            [] => Events::Usual,
            [one] if one == "all" => Events::All,
            names => Events::Named(names.to_vec()),
        }
    }

    fn mode(&self) -> Option<Mode> {
        self.mode.map(Mode::from)
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let root = Root::real();
    if arguments.simulate {
        return simulate::run(&root, arguments);
    }
    if arguments.origins {
        return misses::run(&root, arguments);
    }
    if let Some(path) = &arguments.replay {
        if misses::is_recording(path) {
            return misses::replay(path, &arguments.output);
        }
        return replay::run(path, &arguments.output);
    }
    if arguments.list {
        return list::run(&root, &arguments.output);
    }
    live::run(&root, arguments)
}

/// The error of an event that no table of this machine has.
fn unknown_event(names: &[&str]) -> anyhow::Error {
    exit::usage(format!(
        "--event {}: this processor has no such event; see: hugewise stat --list",
        names.join(",")
    ))
}
