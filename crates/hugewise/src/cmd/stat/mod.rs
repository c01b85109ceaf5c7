//! `hugewise stat`: the cost of address translation, faults and huge pages, interval by interval.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::stat::plan::WantedEvents;
use hugewise_observe::stat::Mode;

use crate::exit::{self, Exit};
use crate::options::{PageFile, parse_interval};
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
    mut_arg("verbose", |it| it.help("Show each event that was counted")),
    after_help = "Without a target the whole machine is observed until Ctrl-C.",
    after_long_help = "Without a target the whole machine is observed until Ctrl-C.\n\n\
                  Columns: walk% share of cycles with a page walk in progress (upper bound);\n\
                  dTLB, iTLB page walks per 1000 instructions; per second: page faults, huge\n\
                  pages from faults, failed huge faults, huge pages collapsed by khugepaged,\n\
                  compaction stalls; huge% share of memory that is huge; free free huge\n\
                  blocks; † machine-wide.",
    group(clap::ArgGroup::new("target").args(["pid", "all", "cgroup", "command", "list", "replay"]))
)]
pub struct Arguments {
    #[command(flatten)]
    target: TargetFlags,

    /// Print a line every TIME
    #[arg(short = 'I', long, value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    interval: Duration,

    /// Events to count (see --list), or `all`
    #[arg(short, long = "event", value_name = "EVENT", value_delimiter = ',')]
    events: Vec<String>,

    /// Count in user, kernel, both or guest mode [default: as permitted]
    #[arg(
        hide_short_help = true,
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "MODE"
    )]
    mode: Option<ModeWord>,

    /// List the events of this processor
    #[arg(long)]
    list: bool,

    /// Report again from a recording (--json FILE)
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    replay: Option<PathBuf>,

    #[command(flatten)]
    moved: Moved,

    #[command(flatten)]
    page: PageFile,

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
    fn events(&self) -> WantedEvents {
        match &self.events[..] {
            [] => WantedEvents::Usual,
            [one] if one == "all" => WantedEvents::All,
            names => WantedEvents::Named(names.to_vec()),
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
    arguments.page.check()?;
    if let Some(path) = &arguments.replay {
        return replay::run(path, arguments);
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
