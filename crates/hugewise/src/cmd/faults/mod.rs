//! `hugewise faults`: shows where the page faults of a program come from, how long they take, and which patterns they
//! form.

mod export;
mod live;
mod results;
mod target;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use hugewise_base::units::parse_duration;
use hugewise_experiment::run::policy::Policy;
use hugewise_observe::faults::Weigh;

use self::export::ProfileFile;
use crate::exit::{self, Exit};
use crate::options::PageFile;
use crate::output::Output;
use crate::process_name::parse_process;
use crate::recording::{self, PageLines};

/// Flags of `faults`.
#[derive(Debug, Args)]
#[command(
    mut_arg("verbose", |it| it.help("Show call sites, histograms and all mappings")),
    after_long_help = "Exit codes:  0 done, 2 usage, 3 the command failed, 4 not possible on this\n\
                  \x20            machine, 130 interrupted (the report covers what was seen)"
)]
pub struct Arguments {
    /// The command and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    /// A running process with its threads and descendants
    #[arg(short, long, value_name = "PID|NAME", value_parser = parse_process, conflicts_with_all = ["command", "replay"])]
    pid: Option<u32>,

    /// The processes of a cgroup, and what they start
    ///
    /// Includes all processes in it, and in the groups below it, when watching starts.
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["command", "pid", "replay"])]
    cgroup: Option<String>,

    /// Stop after TIME [default: when the program ends]
    ///
    /// A command is killed then; a process that was running before continues.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Look at one fault in N, without latencies
    ///
    /// For programs that fault faster than they can be watched. All faults are still counted.
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,

    /// Policy of the command, as in `run`, without --system
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["pid", "cgroup", "replay"])]
    policy: Option<Policy>,

    /// Stdin of the command [default: /dev/null]
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with_all = ["pid", "cgroup", "replay"])]
    stdin: Option<PathBuf>,

    /// Draw the call chains as a flame graph (SVG)
    #[arg(long, value_name = "FILE")]
    flame: Option<PathBuf>,

    /// Write the call chains as text for flame graph tools
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    folded: Option<PathBuf>,

    /// Write the call chains for another program: pprof=FILE, firefox=FILE
    ///
    /// `go tool pprof FILE` reads the first. It has faults and the time in them; --weigh chooses which is shown first.
    /// The Firefox Profiler (profiler.firefox.com, "Load a profile from file") reads the second, with a thread for each
    /// program and only the weight of --weigh. Its time axis shows the chains one after another, each as long as its
    /// weight, not when they happened.
    #[arg(hide_short_help = true, long, value_name = "FORMAT=FILE")]
    export: Vec<ProfileFile>,

    /// Weight of a call chain: time, faults [default: time]
    ///
    /// With --every it is the number of faults.
    #[arg(
        hide_short_help = true,
        long,
        value_enum,
        value_name = "WHAT",
        hide_possible_values = true
    )]
    weigh: Option<Weight>,

    /// Record every event in FILE, for --replay
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    out: Option<PathBuf>,

    /// Report again from a recording
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    replay: Option<PathBuf>,

    #[command(flatten)]
    page: PageFile,

    #[command(flatten)]
    output: Output,
}

/// The weight of a call chain.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Weight {
    Time,
    Faults,
}

impl Arguments {
    fn weigh(&self) -> Weigh {
        match self.weigh {
            Some(Weight::Faults) => Weigh::Faults,
            None if self.every > 1 => Weigh::Faults,
            Some(Weight::Time) | None => Weigh::Time,
        }
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    check(arguments)?;
    results::check(arguments)?;
    let ((analysis, lines), exit) = match &arguments.replay {
        Some(path) => {
            let lines = PageLines::of(&arguments.page);
            (recording::replay(path, lines)?, Exit::Done)
        }
        None => live::watch(arguments)?,
    };
    results::write(&analysis, &lines, arguments)?;
    Ok(exit)
}

fn check(arguments: &Arguments) -> Result<()> {
    let sources = [
        arguments.pid.is_some(),
        arguments.cgroup.is_some(),
        arguments.replay.is_some(),
        !arguments.command.is_empty(),
    ];
    if !sources.contains(&true) {
        return Err(exit::usage(
            "no target; write: hugewise faults -- COMMAND, or -p PID, --cgroup GROUP, --replay FILE",
        ));
    }
    if arguments.duration == Some(Duration::ZERO) {
        return Err(exit::usage(
            "--duration 0 is too short; leave it out for no limit",
        ));
    }
    if let Some(path) = arguments.stdin.as_deref().filter(|path| !path.exists()) {
        return Err(exit::usage(format!(
            "--stdin {}: there is no such file",
            path.display()
        )));
    }
    if arguments.every > 1 && matches!(arguments.weigh, Some(Weight::Time)) {
        return Err(exit::usage(
            "--weigh time needs all faults; leave out --every, or weigh by faults",
        ));
    }
    Ok(())
}
