//! `hugewise inspect`: explains why the memory of a running process is huge or not, range by range.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use hugewise_base::units::parse_duration;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::address_space::{Thoroughness, read_contents};
use hugewise_observe::inspect::view::Glob;

use crate::collapse_facts;
use crate::exit::{self, Exit};
use crate::options::{PageFile, parse_interval};
use crate::output::Output;

mod benefit;
mod explain;
#[cfg(feature = "monitor")]
mod look;
mod processes;
mod results;
mod target;
mod watch;

#[cfg(feature = "monitor")]
pub use look::document;
use target::Targets;

/// Flags of `inspect`.
#[derive(Debug, Args)]
#[command(mut_arg("verbose", |it| it.help("Show every mapping, with the evidence")))]
pub struct Arguments {
    /// PIDs or names of programs [default: all processes]
    #[arg(value_name = "PID|NAME")]
    targets: Vec<String>,

    /// A running process; repeat for more
    #[arg(short, long, value_name = "PID|NAME")]
    pid: Vec<String>,

    /// All processes, one line each
    #[arg(short, long, conflicts_with_all = ["targets", "pid", "cgroup"])]
    all: bool,

    /// The processes of a cgroup and those below it
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["targets", "pid"])]
    cgroup: Option<String>,

    /// Explain a reason, e.g. VMA_SMALL, or list all
    #[arg(long, value_name = "REASON", num_args = 0..=1, default_missing_value = "", exclusive = true)]
    explain: Option<String>,

    /// Only mappings that match GLOB or hold an address
    ///
    /// A word without `*` and `?` may be any part of the name; an address is 0x….
    #[arg(long, value_name = "GLOB")]
    mapping: Option<String>,

    /// Draw the address space, one cell per 2 MiB block
    #[arg(long)]
    map: bool,

    /// Estimate what huge pages would add and could gain
    #[arg(long, conflicts_with_all = ["all", "cgroup", "watch", "map"])]
    forecast: bool,

    /// Allow clearing the accessed bits of the process, to see which pages are used
    ///
    /// For 5 s, or --duration, through /proc/PID/clear_refs. No content changes. The kernel also uses these bits to
    /// choose what to reclaim, and has to learn again.
    #[arg(hide_short_help = true, long, requires = "forecast")]
    touch_bits: bool,

    /// Repeat every TIME and mark what changed
    #[arg(long, conflicts_with = "html", value_name = "TIME", value_parser = parse_interval)]
    watch: Option<Duration>,

    /// Stop --watch after TIME; with --forecast, count page walks for TIME
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Page frames to read, as root: a sample of similar ones, or all
    ///
    /// Ranges of at least 512 MiB in which every block has the same state are sampled: 64 blocks are read, and all of
    /// them if these differ.
    #[arg(hide_short_help = true, long, value_enum, hide_possible_values = true, default_value_t = FrameChoice::Sample, value_name = "sample|all")]
    frames: FrameChoice,

    /// Contents of huge pages to read: a sample, or none (off)
    ///
    /// At most 1024 pages are read, which takes about 1 ms, to estimate how much holds only zeros. No content is kept.
    /// Reading a page marks it as accessed for reclaim.
    #[arg(hide_short_help = true, long, value_enum, hide_possible_values = true, default_value_t = ContentsChoice::Sample, value_name = "sample|off")]
    contents: ContentsChoice,

    /// Judge again what `--format json` or --html has written
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with_all = ["targets", "pid", "all", "cgroup", "watch"])]
    from: Option<PathBuf>,

    #[command(flatten)]
    page: PageFile,

    #[command(flatten)]
    output: Output,
}

/// How many page frames to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FrameChoice {
    /// A sample of similar frames
    Sample,
    /// All
    All,
}

/// Whether to read contents of huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ContentsChoice {
    /// A sample
    Sample,
    /// None
    Off,
}

impl Arguments {
    fn thoroughness(&self) -> Thoroughness {
        match self.frames {
            FrameChoice::Sample => Thoroughness::Sample,
            FrameChoice::All => Thoroughness::All,
        }
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    if let Some(name) = &arguments.explain {
        return explain::explain(name);
    }
    if arguments.duration.is_some() && arguments.watch.is_none() && !arguments.forecast {
        return Err(exit::usage("--duration belongs to --watch or --forecast"));
    }
    arguments.page.check()?;
    if let Some(path) = &arguments.from {
        results::one(&processes::judge_again(path)?, arguments)?;
        return Ok(Exit::Done);
    }
    let root = Root::real();
    match target::find(&root, arguments)? {
        Targets::One(pid) if arguments.watch.is_some() => watch::watch(&root, pid, arguments),
        Targets::One(pid) => one(&root, pid, arguments),
        Targets::Many(_) if arguments.watch.is_some() => {
            Err(exit::usage("--watch needs one process; name one"))
        }
        Targets::Many(_) if arguments.page.html.is_some() => {
            Err(exit::usage("--html needs one process; name one"))
        }
        Targets::Many(pids) => processes::many(&root, &pids, arguments),
    }
}

/// Inspects one process, in full.
fn one(root: &Root, pid: u32, arguments: &Arguments) -> Result<Exit> {
    let watched = arguments
        .forecast
        .then(|| processes::watch_use(root, pid, arguments));
    let watched = watched.transpose()?;
    let mut inspection = processes::inspect(
        root,
        pid,
        arguments.thoroughness(),
        |mut space, settings| {
            if arguments.contents == ContentsChoice::Sample {
                space.contents = read_contents(root, &space);
            }
            results::judged(space, settings, arguments)
        },
    )?;
    // Reading all rules and records is expensive, so it happens only if the output shows them.
    let is_read = arguments.output.format.is_prose() || arguments.page.html.is_some();
    if is_read && inspection.names_a_fix() {
        inspection.benefit = benefit::of(root, pid);
    }
    inspection.forecast =
        watched.map(|watched| collapse_facts::of(root, &inspection.space, watched));
    results::one(&inspection, arguments)?;
    // The program exits next, so the data of many mappings need not be freed piece by piece.
    std::mem::forget(inspection);
    Ok(Exit::Done)
}

/// Parses the pattern of `--mapping`.
fn glob(arguments: &Arguments) -> Option<Glob> {
    arguments.mapping.as_deref().map(Glob::new)
}
