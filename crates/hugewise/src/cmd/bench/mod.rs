//! `hugewise bench`: measures the value of each page size on this machine, with programs of which every instruction is
//! known.
//!
//! A bench is an experiment whose workload is the laboratory. So this verb only makes a plan; `experiment::conduct`
//! does the rest, as it does for `run`.

use anyhow::Result;
use clap::{Args, Subcommand};
use hugewise_base::host::Host;
use hugewise_base::units::Unit;
use hugewise_bench::arms;
use hugewise_bench::plot::is_drawn;
use hugewise_experiment::run::cells::Bench;
use hugewise_experiment::run::plan::{Blocks, Plan};
use hugewise_experiment::run::policy::Omission;
use hugewise_experiment::run::policy::realise::Reach;
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;
use hugewise_text::number::quantity;

use crate::exit::{self, Exit};
use crate::experiment::conduct::{Files, conduct};
use crate::experiment::report::ReportFiles;
use crate::interrupt::Interrupt;
use crate::options::Options;
use crate::paths;
use crate::stderr::message;

use flags::BenchFlags;

mod calibrate;
mod cells;
mod flags;
mod fork;
mod fragment;
mod growth;
mod heap;
mod latency;
mod memory;
mod prefault;
mod room;
mod slab;

/// Flags of `bench`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

/// The suite to measure.
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

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let root = Root::real();
    let host = paths::host(&root)?;
    let suite = &arguments.suite;
    let interrupt = Interrupt::catch()?;
    suite.announce();
    let (common, bench) = (suite.common(), suite.cells(&host, &root)?);
    if common.svg.is_some() && !is_drawn(&bench) {
        return Err(exit::usage(
            "--svg: a curve needs at least two sizes in one bench of memory, latency or growth",
        ));
    }
    let allocators = match suite {
        Suite::Slab(flags) => slab::allocators(flags, &host)?,
        _ => None,
    };
    let arms = arms::of_suite(&bench.suite, &host, common.reach());
    let is_usual = common.pages.is_empty() && allocators.is_none();
    let policies = match allocators {
        Some(allocators) => allocators,
        None => common.policies(arms, &host, &bench)?,
    };
    let options = common.options(&bench, policies)?;
    let not_tried = not_tried(&options, &host, &bench).filter(|_| is_usual);
    let plan = Plan {
        bench: Some(bench),
        // Each cell is a separate question: no policy is dropped while others continue.
        blocks: Blocks::Shared,
        not_tried,
        ..options.plan(&host, unix_ms())?
    };
    if interrupt.asked() {
        return Err(exit::interrupted("nothing was measured yet"));
    }
    common.page.check()?;
    let files = Files {
        record: common.out.as_deref(),
        report: ReportFiles {
            svg: common.svg.as_deref(),
            exports: &[],
            page: Some(&common.page),
        },
        stdin: None,
        ..Files::default()
    };
    conduct(
        &root,
        &options,
        |_: &Host| Ok(plan.clone()),
        files,
        &common.output,
    )
}

impl Suite {
    /// Announces the duration before the first seconds without output.
    fn announce(&self) {
        let common = self.common();
        if !common.output.quiet {
            message(format_args!(
                "measuring for up to {}; Ctrl-C stops and reports what was measured",
                quantity(&Unit::Seconds, common.time().as_secs_f64())
            ));
        }
    }

    /// The flags of every bench.
    fn common(&self) -> &BenchFlags {
        match self {
            Self::Memory(flags) => &flags.common,
            Self::Latency(flags) => &flags.common,
            Self::Prefault(flags) => &flags.common,
            Self::Growth(flags) => &flags.common,
            Self::Heap(flags) => &flags.common,
            Self::Fork(flags) => &flags.common,
            Self::Slab(flags) => &flags.common,
            Self::Fragment(flags) => &flags.common,
        }
    }

    /// Its cells.
    fn cells(&self, host: &Host, root: &Root) -> Result<Bench> {
        match self {
            Self::Memory(flags) => memory::bench(flags, host, root),
            Self::Latency(flags) => latency::bench(flags, host, root),
            Self::Prefault(flags) => prefault::bench(flags, host, root),
            Self::Growth(flags) => growth::bench(flags, host, root),
            Self::Heap(flags) => heap::bench(flags, host, root),
            Self::Fork(flags) => fork::bench(flags, host, root),
            Self::Slab(flags) => slab::bench(flags, host, root),
            Self::Fragment(flags) => fragment::bench(flags, host, root),
        }
    }
}

/// The policies that `--system` would add.
fn not_tried(options: &Options, host: &Host, bench: &Bench) -> Option<Omission> {
    let usual = arms::of_suite(&bench.suite, host, Reach::System).usual;
    let more = usual.into_iter();
    let more = more.filter(|policy| !options.policy.contains(policy));
    Omission::of(
        more.map(|policy| policy.name).collect(),
        host,
        options.reach(),
    )
}
