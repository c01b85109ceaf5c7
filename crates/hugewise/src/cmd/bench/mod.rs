//! `hugewise bench`: what pages of each size are worth on this machine, by programs whose every
//! instruction is known.
//!
//! A bench is an experiment whose workload is the laboratory. So this verb only makes a plan;
//! `run::conduct` does the rest, as it does for `run`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use hugewise_linux::clock::unix_ms;
use hugewise_linux::root::Root;
use hugewise_model::bench::{Bench, Cell, arms, suite};
use hugewise_model::host::Host;
use hugewise_model::plan::Plan;
use hugewise_model::policy::Policy;
use hugewise_model::policy::realise::Reach;
use hugewise_model::quantity::parse_duration;

use crate::cli::Output;
use crate::cmd::run::conduct;
use crate::exit::{self, Exit};
use crate::options::Options;
use crate::places;
use crate::say::say;

mod memory;
mod prefault;
mod room;

/// No new round begins after this time, where nothing else was asked for.
const USUAL_TIME: Duration = Duration::from_secs(180);

/// Flags of `bench`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

/// What is measured.
#[derive(Debug, Subcommand)]
enum Suite {
    /// Speed of copying, filling and reading blocks of memory
    Memory(Box<memory::Arguments>),
    /// Time of bringing memory in, by each way of prefaulting
    Prefault(Box<prefault::Arguments>),
}

/// Flags that every bench has.
#[derive(Clone, Debug, Args)]
struct Common {
    /// Sizes of page to compare, as 4k,2m [default: those that can be had]
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',')]
    pages: Vec<String>,

    /// Allow what writes the machine's own settings, as folios of 64 KiB do
    #[arg(long)]
    system: bool,

    /// No decision before this many rounds [default: 10]
    #[arg(long, value_name = "N")]
    min_rounds: Option<u32>,

    /// Never more rounds than this [default: 40]
    #[arg(long, value_name = "N")]
    max_rounds: Option<u32>,

    /// Begin no new round after this time [default: 3m]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    max_time: Option<Duration>,

    /// Seed of the order of trials [default: from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Write the record to FILE, which must be new
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<Exit> {
    let root = Root::real();
    let host = places::host(&root)?;
    let (common, bench) = match arguments.suite {
        Suite::Memory(asked) => (asked.common.clone(), memory::bench(&asked, &host, &root)?),
        Suite::Prefault(asked) => (asked.common.clone(), prefault::bench(&asked, &host, &root)?),
    };
    let options = common.options(&bench, &host)?;
    let plan = Plan {
        bench: Some(bench),
        ..options.plan(&host, unix_ms())?
    };
    if !common.output.quiet && common.pages.is_empty() {
        hint_at_more(&host, options.reach());
    }
    let place = common.out.as_deref();
    conduct(&root, &options, (host, plan), place, &common.output)
}

impl Common {
    fn reach(&self) -> Reach {
        if self.system {
            Reach::System
        } else {
            Reach::Process
        }
    }

    /// The experiment that goes through the cells. Its verdict is that of the first cell; the
    /// workload is not held at its end, because its blocks are gone by then.
    fn options(&self, bench: &Bench, host: &Host) -> Result<Options> {
        let primary = suite::find(&bench.suite).map_or("time_seconds", suite::Suite::primary);
        let cells: Vec<&str> = bench.cells.iter().map(Cell::as_str).collect();
        let words = ["bench", &bench.suite, "--cells", &cells.join(",")];
        let mut command = vec![laboratory()?.into_os_string()];
        command.extend(words.map(Into::into));
        Ok(Options {
            policy: self.policies(host)?,
            system: self.system,
            min_rounds: self.min_rounds,
            max_rounds: self.max_rounds,
            max_time: Some(self.max_time.unwrap_or(USUAL_TIME)),
            seed: self.seed,
            exit_hold: Some(crate::options::Switch::Off),
            verdict_metric: bench.cells.first().map(|cell| cell.reading(primary)),
            command,
            ..Options::default()
        })
    }

    fn policies(&self, host: &Host) -> Result<Vec<Policy>> {
        if self.pages.is_empty() {
            return Ok(arms::usual(host, self.reach()));
        }
        let known = arms::all(host, self.reach());
        let find = |name: &String| {
            let found = known.iter().find(|policy| policy.name == *name);
            found.cloned().ok_or_else(|| no_pages(name, &known, host))
        };
        self.pages.iter().map(find).collect()
    }
}

fn no_pages(name: &str, known: &[Policy], host: &Host) -> anyhow::Error {
    let names = |policies: &[Policy]| {
        let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
        names.join(", ")
    };
    let with_system = arms::all(host, Reach::System);
    let more = if with_system.iter().any(|policy| policy.name == name) {
        "; with --system that too".to_owned()
    } else {
        String::new()
    };
    exit::usage(format!("--pages {name}: there are {}{more}", names(known)))
}

/// What `--system` would add.
fn hint_at_more(host: &Host, reach: Reach) {
    let tried = arms::usual(host, reach);
    let more: Vec<String> = arms::usual(host, Reach::System)
        .into_iter()
        .filter(|policy| !tried.contains(policy))
        .map(|policy| policy.name)
        .collect();
    if !more.is_empty() {
        let names = more.join(" and ");
        say(format_args!(
            "Not tried: pages of {names}, which need the machine's own settings; add --system to \
             allow that."
        ));
    }
}

/// The laboratory, which is installed beside this program.
fn laboratory() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let path = own.with_file_name("hugewise-lab");
    if path.is_file() {
        return Ok(path);
    }
    Err(exit::usage(format!(
        "bench needs the program hugewise-lab beside this one, and {} is not there; put it there \
         (cargo build -p hugewise-lab)",
        path.display()
    )))
}

/// The words that were asked for, each of which must be known, or those that are usual.
fn chosen<'a>(
    flag: &str,
    asked: &'a [String],
    known: &[&str],
    usual: &[&'a str],
) -> Result<Vec<&'a str>> {
    if asked.is_empty() {
        return Ok(usual.to_vec());
    }
    match asked.iter().find(|word| !known.contains(&word.as_str())) {
        None => Ok(asked.iter().map(String::as_str).collect()),
        Some(word) => Err(exit::usage(format!(
            "{flag} {word}: there are {}",
            known.join(", ")
        ))),
    }
}

/// A suite's cells, which are never none and none twice.
fn of_cells(name: &str, cells: Vec<Vec<String>>) -> Result<Bench> {
    let mut found: Vec<Cell> = Vec::new();
    for words in cells {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let cell = Cell::of(&words).map_err(exit::usage)?;
        if !found.contains(&cell) {
            found.push(cell);
        }
    }
    Ok(Bench {
        suite: name.to_owned(),
        cells: found,
    })
}
