//! `hugewise stat`: what address translation, faults and huge pages cost, interval by interval.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use hugewise_linux::root::Root;
use hugewise_linux::stat::plan::Events;
use hugewise_model::stat::Mode;

use crate::exit::{self, Exit};
use crate::options::parse_interval;
use crate::target::TargetFlags;

use crate::output::Output;
use moved::Moved;

mod lines;
mod list;
mod live;
mod moved;
mod replay;

/// Flags of `stat`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without a target the whole machine is observed until Ctrl-C.\n\
                  walk% is the share of cycles with a page walk under way, at most; dTLB/k and\n\
                  iTLB/k are page walks for 1000 instructions; huge/s are huge pages made in\n\
                  faults, refus/s those refused, coll/s those that khugepaged made, comp/s\n\
                  compaction stalls, huge% the share of memory that is huge, free the free huge\n\
                  blocks. † marks figures of the whole machine.",
    group(clap::ArgGroup::new("target").args(["pid", "all", "cgroup", "command", "list", "replay"]))
)]
pub struct Arguments {
    #[command(flatten)]
    target: TargetFlags,

    /// A line for each interval of this length
    #[arg(short = 'I', long, value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    interval: Duration,

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

    /// Report again from a recording (--format json or --json FILE)
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,

    #[command(flatten)]
    moved: Moved,

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
    arguments.moved.check()?;
    if let Some(path) = &arguments.replay {
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
