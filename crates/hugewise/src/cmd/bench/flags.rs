//! Flags of every bench, and the experiment that they define.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hugewise_base::host::Host;
use hugewise_base::units::KIB;
use hugewise_bench::arms;
use hugewise_bench::arms::Arms;
use hugewise_experiment::run::cells::{Bench, BenchCell, suite};
use hugewise_experiment::run::plan::{Criterion, HostMemory};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::policy::realise::Reach;

use super::calibrate::Budget;
use crate::experiment::plan::USUAL_BENCH_TIME;
use crate::options::{Limits, Options, PageFile, Switch, parse_time};
use crate::output::Output;
use crate::turn::Wait;
use crate::{exit, paths};

/// Flags of every bench.
#[derive(Clone, Debug, Args)]
pub(super) struct BenchFlags {
    /// Page sizes to compare, e.g. 4k,2m [default: those available]
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',')]
    pub(super) pages: Vec<String>,

    /// Allow changing system settings, e.g. for 64 KiB folios
    #[arg(long)]
    pub(super) system: bool,

    /// Free memory in the host before each trial: warm, rest:TIME, as-is
    ///
    /// As for `run`: warm is the default if the hypervisor takes back free memory.
    #[arg(hide_short_help = true, long, value_name = "STATE")]
    pub(super) host_memory: Option<HostMemory>,

    /// Decide nothing before N rounds [default: 10]
    #[arg(hide_short_help = true, long, value_name = "N")]
    pub(super) min_rounds: Option<u32>,

    /// Run at most N rounds [default: 40]
    #[arg(hide_short_help = true, long, value_name = "N")]
    pub(super) max_rounds: Option<u32>,

    /// End after TIME; no round begins that would end later [default: 3m]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(super) max_time: Option<Duration>,

    /// Wait for another experiment: at most TIME, or no
    #[arg(hide_short_help = true, long, value_name = "TIME|no")]
    pub(super) wait: Option<Wait>,

    /// Seed of the order of trials [default: from the clock]
    #[arg(hide_short_help = true, long, value_name = "N")]
    pub(super) seed: Option<u64>,

    /// Write the record to FILE, which must be new
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) out: Option<PathBuf>,

    /// Draw the curves into FILE
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        help_heading = "Output"
    )]
    pub(super) svg: Option<PathBuf>,

    #[command(flatten)]
    pub(super) page: PageFile,

    #[command(flatten)]
    pub(super) output: Output,
}

impl BenchFlags {
    /// Whether system settings may be written.
    pub(super) fn reach(&self) -> Reach {
        if self.system {
            Reach::System
        } else {
            Reach::Process
        }
    }

    /// A bench does not end with the answer of its deciding cell, because it has others.
    fn min_rounds(&self) -> u32 {
        const USUAL: u32 = 10;
        let most = self.max_rounds.unwrap_or(USUAL).min(USUAL);
        self.min_rounds.unwrap_or(most)
    }

    /// No new round begins after this time.
    pub(super) fn time(&self) -> Duration {
        self.max_time.unwrap_or(USUAL_BENCH_TIME)
    }

    /// The time for ten rounds, with one trial of each policy and the control.
    pub(super) fn budget(&self, suite: &str, host: &Host) -> Budget {
        let policies = match self.pages.len() {
            0 => arms::of_suite(suite, host, self.reach()).usual.len(),
            named => named,
        };
        Budget {
            time: self.time(),
            trials: u32::try_from(policies + 1).unwrap_or(u32::MAX),
        }
    }

    /// The experiment over the cells. The workload is not held at its exit, because its blocks are freed by then.
    pub(super) fn options(&self, bench: &Bench, policy: Vec<Policy>) -> Result<Options> {
        let primary = suite::find(&bench.suite).map_or("time_seconds", suite::Suite::primary);
        let cells: Vec<&str> = bench.cells.iter().map(BenchCell::as_str).collect();
        let words = ["bench", &bench.suite, "--cells", &cells.join(",")];
        let mut command = vec![paths::laboratory()?.into_os_string()];
        command.extend(words.map(Into::into));
        Ok(Options {
            baseline: policy.first().map(|first| first.name.clone()),
            policy,
            system: self.system,
            host_memory: self.host_memory,
            limits: Limits {
                max_rounds: self.max_rounds,
                max_time: Some(self.time()),
            },
            seed: self.seed,
            wait: self.wait,
            exit_hold: Some(Switch::Off),
            judge_by: bench
                .deciding()
                .map(|cell| Criterion::Metric(cell.reading(primary))),
            min_rounds: Some(self.min_rounds()),
            command,
            ..Options::default()
        })
    }

    /// The policies of `--pages`, or the default ones.
    pub(super) fn policies(&self, arms: Arms, host: &Host, bench: &Bench) -> Result<Vec<Policy>> {
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

/// The hint for hugetlb pages: this bench does not use them, or how to fill the pool.
fn not_of_the_pool(name: &str, host: &Host) -> Option<String> {
    let named = |bytes: u64| format!("hugetlb-{}", arms::page_word(bytes)) == name;
    let (bytes, pool) = host.hugetlb.iter().find(|(bytes, _)| named(**bytes))?;
    if pool.free > pool.reserved {
        return Some("; this bench uses no hugetlb pages".to_owned());
    }
    Some(format!(
        "; that hugetlb pool has no free page; as root, write a number to \
         /sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages",
        bytes / KIB
    ))
}
