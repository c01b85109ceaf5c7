//! `hugewise bench`: what pages of each size are worth on this machine, by programs whose every
//! instruction is known.
//!
//! A bench is an experiment whose workload is the laboratory. So this verb only makes a plan;
//! `experiment::conduct` does the rest, as it does for `run`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use hugewise_linux::clock::unix_ms;
use hugewise_linux::root::Root;
use hugewise_model::bench::arms::Arms;
use hugewise_model::bench::plot::is_drawn;
use hugewise_model::bench::{Bench, Cell, arms, suite};
use hugewise_model::host::Host;
use hugewise_model::plan::Plan;
use hugewise_model::policy::Policy;
use hugewise_model::policy::realise::Reach;
use hugewise_model::quantity::{KIB, parse_duration};

use crate::exit::{self, Exit};
use crate::experiment::conduct::{Files, conduct};
use crate::nearest::hint;
use crate::options::Options;
use crate::output::Output;
use crate::paths;
use crate::stderr::say;

use calibrate::Budget;

mod calibrate;
mod fork;
mod fragment;
mod growth;
mod heap;
mod latency;
mod memory;
mod prefault;
mod room;
mod slab;

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
    /// Speed of copying, filling and reading memory, by block size
    Memory(Box<memory::Arguments>),
    /// Load-to-use latency (pointer chasing), from L1 to DRAM
    Latency(Box<latency::Arguments>),
    /// Cost of prefaulting memory, by method
    Prefault(Box<prefault::Arguments>),
    /// Share of a heap that becomes huge, by growth step
    Growth(Box<growth::Arguments>),
    /// Share of a heap that becomes huge, as Go, glibc and others grow it
    Heap(Box<heap::Arguments>),
    /// Cost of fork, and of the copy-on-write faults after it
    Fork(Box<fork::Arguments>),
    /// Allocation of small objects, by page size and prefaulting, or by allocator
    Slab(Box<slab::Arguments>),
    /// Cost of fresh memory while free memory is fragmented
    Fragment(Box<fragment::Arguments>),
}

/// Flags that every bench has.
#[derive(Clone, Debug, Args)]
struct Common {
    /// Page sizes to compare, e.g. 4k,2m [default: those available]
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',')]
    pages: Vec<String>,

    /// Allow changing system settings, e.g. for 64 KiB folios
    #[arg(long)]
    system: bool,

    /// Decide nothing before N rounds [default: 10]
    #[arg(hide_short_help = true, long, value_name = "N")]
    min_rounds: Option<u32>,

    /// Run at most N rounds [default: 40]
    #[arg(hide_short_help = true, long, value_name = "N")]
    max_rounds: Option<u32>,

    /// Start no new round after TIME [default: 3m]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    max_time: Option<Duration>,

    /// Seed of the order of trials [default: from the clock]
    #[arg(hide_short_help = true, long, value_name = "N")]
    seed: Option<u64>,

    /// Write the record to FILE, which must be new
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Draw the curves into FILE
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let root = Root::real();
    let host = paths::host(&root)?;
    let suite = &arguments.suite;
    let (common, bench) = suite.cells(&host, &root)?;
    if common.svg.is_some() && !is_drawn(&bench) {
        return Err(exit::usage(
            "--svg: a curve needs at least two sizes in one bench of memory, latency or growth",
        ));
    }
    let allocators = match suite {
        Suite::Slab(asked) => slab::allocators(asked, &host)?,
        _ => None,
    };
    let arms = arms::of_suite(&bench.suite, &host, common.reach());
    let hints = common.pages.is_empty() && allocators.is_none();
    let policies = match allocators {
        Some(allocators) => allocators,
        None => common.policies(arms, &host, &bench)?,
    };
    let options = common.options(&bench, policies)?;
    let plan = Plan {
        bench: Some(bench),
        ..options.plan(&host, unix_ms())?
    };
    if !common.output.quiet && hints {
        hint_at_more(&options, &host, &plan);
    }
    let files = Files {
        record: common.out.as_deref(),
        svg: common.svg.as_deref(),
    };
    conduct(&root, &options, (host, plan), files, &common.output)
}

impl Suite {
    /// Its cells, and the flags that every bench has.
    fn cells(&self, host: &Host, root: &Root) -> Result<(&Common, Bench)> {
        Ok(match self {
            Self::Memory(asked) => (&asked.common, memory::bench(asked, host, root)?),
            Self::Latency(asked) => (&asked.common, latency::bench(asked, host, root)?),
            Self::Prefault(asked) => (&asked.common, prefault::bench(asked, host, root)?),
            Self::Growth(asked) => (&asked.common, growth::bench(asked, host, root)?),
            Self::Heap(asked) => (&asked.common, heap::bench(asked, host, root)?),
            Self::Fork(asked) => (&asked.common, fork::bench(asked, host, root)?),
            Self::Slab(asked) => (&asked.common, slab::bench(asked, host, root)?),
            Self::Fragment(asked) => (&asked.common, fragment::bench(asked, host, root)?),
        })
    }
}

impl Common {
    fn reach(&self) -> Reach {
        if self.system {
            Reach::System
        } else {
            Reach::Process
        }
    }

    /// After which no new round begins.
    fn time(&self) -> Duration {
        self.max_time.unwrap_or(USUAL_TIME)
    }

    /// What ten rounds have to fit into: of each policy one trial, and the control.
    fn budget(&self, suite: &str, host: &Host) -> Budget {
        let policies = match self.pages.len() {
            0 => arms::of_suite(suite, host, self.reach()).usual.len(),
            named => named,
        };
        Budget {
            time: self.time(),
            trials: u32::try_from(policies + 1).unwrap_or(u32::MAX),
        }
    }

    /// The experiment that goes through the cells. The workload is not held at its end, because
    /// its blocks are gone by then.
    fn options(&self, bench: &Bench, policy: Vec<Policy>) -> Result<Options> {
        let primary = suite::find(&bench.suite).map_or("time_seconds", suite::Suite::primary);
        let cells: Vec<&str> = bench.cells.iter().map(Cell::as_str).collect();
        let words = ["bench", &bench.suite, "--cells", &cells.join(",")];
        let mut command = vec![paths::laboratory()?.into_os_string()];
        command.extend(words.map(Into::into));
        Ok(Options {
            policy,
            system: self.system,
            min_rounds: self.min_rounds,
            max_rounds: self.max_rounds,
            max_time: Some(self.time()),
            seed: self.seed,
            exit_hold: Some(crate::options::Switch::Off),
            verdict_metric: bench.deciding().map(|cell| cell.reading(primary)),
            command,
            ..Options::default()
        })
    }

    fn policies(&self, arms: Arms, host: &Host, bench: &Bench) -> Result<Vec<Policy>> {
        if self.pages.is_empty() {
            return Ok(arms.usual);
        }
        let find = |name: &String| {
            let found = arms.known.iter().find(|policy| policy.name == *name);
            found
                .cloned()
                .ok_or_else(|| no_pages(name, &arms.known, host, bench))
        };
        self.pages.iter().map(find).collect()
    }
}

fn no_pages(name: &str, known: &[Policy], host: &Host, bench: &Bench) -> anyhow::Error {
    let names = |policies: &[Policy]| {
        let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
        names.join(", ")
    };
    let with_system = arms::of_suite(&bench.suite, host, Reach::System).known;
    let more = if with_system.iter().any(|policy| policy.name == name) {
        "; with --system that too".to_owned()
    } else {
        not_of_the_pool(name, host).unwrap_or_default()
    };
    exit::usage(format!("--pages {name}: there are {}{more}", names(known)))
}

/// Where the pages of a pool are asked for: that this bench takes none, or how the pool gets some.
fn not_of_the_pool(name: &str, host: &Host) -> Option<String> {
    let named = |bytes: u64| format!("hugetlb-{}", arms::page_word(bytes)) == name;
    let (bytes, pool) = host.hugetlb.iter().find(|(bytes, _)| named(**bytes))?;
    if pool.free > pool.reserved {
        return Some("; this bench takes no pages of a pool".to_owned());
    }
    Some(format!(
        "; that pool has no free page, and root fills it by writing a number to \
         /sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages",
        bytes / KIB
    ))
}

/// What `--system` would add.
fn hint_at_more(options: &Options, host: &Host, plan: &Plan) {
    let suite = plan.bench.as_ref().map_or("", |bench| &bench.suite);
    let more: Vec<String> = arms::of_suite(suite, host, Reach::System)
        .usual
        .into_iter()
        .filter(|policy| !options.policy.contains(policy))
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
            "{flag} {word}: {}",
            hint(word, known.iter().copied())
        ))),
    }
}

/// The numbers that were asked for, or those that are usual.
fn or_usual(asked: &[u64], usual: &[u64]) -> Vec<u64> {
    if asked.is_empty() { usual } else { asked }.to_vec()
}

/// A size as flags take it, `4G`.
fn flag_text(bytes: u64) -> String {
    arms::page_word(bytes).to_uppercase()
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
        processor: None,
        left_out: None,
    })
}
