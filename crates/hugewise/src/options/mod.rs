//! The flags of an experiment; the keys of an experiment file are the same.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::turn::Wait;
use clap::Args;
use hugewise_base::units::parse_duration;
use hugewise_experiment::run::plan::{
    Criterion, HostMemory, LatencySource, PrintedMetric, Program,
};
use hugewise_experiment::run::policy::{Policy, offered_keys};

mod check;
mod choices;
mod demands;
mod exports;
mod file;
mod general;
mod page;
mod parse;
mod preset;
mod programs;
mod server;

pub use check::check_workload;
pub use choices::{InterleaveChoice, LoadUnder, Processors, StallChoice, Streams, Switch};
pub use demands::Demands;
pub use exports::{ExportFile, Exports};
pub use file::with_file;
pub use page::PageFile;
pub use parse::{parse_fragment, parse_interval, parse_share, parse_time};
pub use preset::Preset;
pub use programs::{Factor, parse_program};
pub use server::ServerOptions;

/// The headings of the help.
const TRY: &str = "What to try";
const STOP: &str = "When to stop";
const WORKLOAD: &str = "The workload";
const SERVER: &str = "A server under load";
const JUDGE: &str = "What to judge";

/// The help for policies, from the table of their keys.
fn policy_help() -> String {
    format!(
        "Policy to try, as thp=never; repeat for more\n\n\
         In full `[NAME:]KEY=VALUE[,KEY=VALUE…]`. Keys: {}. java.NAME takes + or - for a flag \
         that is on or off; postgres.NAME and redis.NAME fill {{postgres.NAME}} in the command. \
         args=-L runs `CMD -L …`, or puts its words in the place of {{args}} in the command; several \
         words stand with spaces between, and are quoted as for a shell. \
         `as-is` is the machine as it is. The first policy is the baseline unless --baseline \
         names another; a policy alone is compared with as-is. Without any: the machine as it is, thp=never, what else is reachable, and the arguments by which the program itself asks for huge pages, where `advise` knows some.",
        offered_keys()
    )
}

/// The flags that are fixed for all rounds of a record: all except [`Limits`]. A command is allowed too; whether it
/// equals the record's is checked when the record is read.
pub fn fixed_by_record() -> Vec<clap::Id> {
    let ids = |command: clap::Command| -> Vec<clap::Id> {
        command
            .get_arguments()
            .map(|arg| arg.get_id().clone())
            .collect()
    };
    let mut free = ids(Limits::augment_args(clap::Command::new("")));
    free.extend(["wait".into(), "command".into()]);
    let mut all = ids(Options::augment_args(clap::Command::new("")));
    all.retain(|id| !free.contains(id));
    all
}

/// The limits of an experiment, which can be set again when it is continued.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Limits {
    /// Run at most N rounds [default: as many as 90 s allow]
    #[arg(long, value_name = "N", help_heading = STOP)]
    pub max_rounds: Option<u32>,

    /// End after TIME, e.g. 5m [default: 90s]
    ///
    /// No round begins that would end later. Without it and without --max-rounds, the fewest rounds that can decide are
    /// always run, even if they take longer.
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = STOP)]
    pub max_time: Option<Duration>,
}

/// The definition of an experiment; every field is a flag of `run` and a key of the file.
#[derive(Clone, Debug, Default, Args)]
pub struct Options {
    /// Policy to try, e.g. thp=never; repeat for more
    #[arg(long, value_name = "POLICY", help_heading = TRY, long_help = policy_help())]
    pub policy: Vec<Policy>,

    /// Try all combinations, e.g. thp=always,never; repeat for more keys
    ///
    /// `program=./old,./new` crosses programs with the policies. They are called by the last parts of
    /// their paths; see --program.
    #[arg(long, hide_short_help = true, value_name = "KEY=V,V", help_heading = TRY)]
    pub matrix: Vec<Factor>,

    /// Program to compare, e.g. new=./new; repeat for more
    ///
    /// Each program runs under every policy and is compared with the first one. CMD is split into words as a shell does
    /// it, and no shell runs. Words after `--` are added to the arguments of each. The report shows which program is
    /// faster under each policy, and whether one gains more from a policy than another.
    #[arg(long, value_name = "NAME=CMD", value_parser = parse_program, help_heading = TRY)]
    pub program: Vec<Program>,

    /// Policy that the others are compared with [default: the first]
    ///
    /// A single policy is compared with as-is; with --baseline it is measured without a comparison.
    #[arg(long, hide_short_help = true, value_name = "NAME", help_heading = TRY)]
    pub baseline: Option<String>,

    /// Allow changing system settings during trials
    ///
    /// If an experiment is killed, the next one restores its settings, and so does `hugewise doctor --undo`.
    #[arg(long, help_heading = TRY)]
    pub system: bool,

    /// Keep this share of free memory fragmented, e.g. 80%
    ///
    /// This is the share in blocks smaller than a huge page. Needs --system. A helper process holds memory for it,
    /// restores the state before each trial, and ends with the experiment. Free memory that is more fragmented already
    /// stays so.
    #[arg(long, hide_short_help = true, value_name = "SHARE", value_parser = parse_fragment, help_heading = TRY)]
    pub fragment: Option<u32>,

    /// Free memory in the host before each trial: warm, rest:TIME, as-is
    ///
    /// A hypervisor that takes back free memory must find new memory at the first touch. That costs milliseconds for a
    /// huge page, so a trial's time depends on earlier runs. `warm` touches and frees the trial's memory right before
    /// it, not measured; it is the default on such a host. `rest:3s` waits before each trial, so that memory is equally
    /// cold for all. `as-is` does nothing.
    #[arg(long, hide_short_help = true, value_name = "STATE", help_heading = TRY)]
    pub host_memory: Option<HostMemory>,

    /// Stop when the effect is known to within ± SHARE, e.g. 0.5%
    #[arg(long, hide_short_help = true, value_name = "SHARE", value_parser = parse_share, help_heading = STOP)]
    pub precision: Option<f64>,

    /// Smallest effect that matters [default: 1%]
    #[arg(long, hide_short_help = true, value_name = "SHARE", value_parser = parse_share, help_heading = STOP)]
    pub threshold: Option<f64>,

    /// Decide nothing before N rounds [default: the fewest that can]
    ///
    /// Times need at least 5 rounds to decide, and up to 7 with many policies; 3 rounds show that a policy changes no
    /// page. A single policy without a comparison is run 10 times.
    #[arg(long, hide_short_help = true, value_name = "N", help_heading = STOP)]
    pub min_rounds: Option<u32>,

    #[command(flatten)]
    pub limits: Limits,

    /// Flags for a purpose: ci
    ///
    /// `ci`: --max-time 5m unless a limit is given, and --wait 10m. --fail-if stops the pipeline if a whole interval is
    /// beyond its limit. An undecided --fail-if is reported on stderr and passes, unless --strict is given.
    #[arg(long, hide_short_help = true, value_name = "NAME", hide_possible_values = true, help_heading = STOP)]
    pub preset: Option<Preset>,

    /// Warm-up rounds, not measured [default: 1]
    #[arg(long, hide_short_help = true, value_name = "N", help_heading = WORKLOAD)]
    pub warmup: Option<u32>,

    /// Wait for another experiment: at most TIME, or no
    ///
    /// By default hugewise waits without limit on a terminal, and else not at all; then the exit code is 6.
    #[arg(long, hide_short_help = true, value_name = "TIME|no", help_heading = STOP)]
    pub wait: Option<Wait>,

    /// Seed of the order of trials [default: from the clock]
    #[arg(long, hide_short_help = true, value_name = "N", help_heading = STOP)]
    pub seed: Option<u64>,

    /// Run the command as one line of /bin/sh
    #[arg(long, hide_short_help = true, help_heading = WORKLOAD)]
    pub shell: bool,

    /// Shell line to run once before everything
    #[arg(long, hide_short_help = true, value_name = "LINE", help_heading = WORKLOAD)]
    pub setup: Option<String>,

    /// Shell line to run before every trial, not measured
    #[arg(long, hide_short_help = true, value_name = "LINE", help_heading = WORKLOAD)]
    pub prepare: Option<String>,

    /// Shell line to run after every trial, not measured
    ///
    /// It also runs after Ctrl-C, like --cleanup.
    #[arg(long, hide_short_help = true, value_name = "LINE", help_heading = WORKLOAD)]
    pub conclude: Option<String>,

    /// Shell line to run once after everything
    ///
    /// It also runs after a failure and after Ctrl-C; only another Ctrl-C, a second later or more,
    /// ends it.
    #[arg(long, hide_short_help = true, value_name = "LINE", help_heading = WORKLOAD)]
    pub cleanup: Option<String>,

    /// Measure a command that fails: an exit status other than 0 counts
    #[arg(long, hide_short_help = true, help_heading = WORKLOAD)]
    pub ignore_failure: bool,

    /// Stdin of each trial [default: the file or pipe at stdin, else /dev/null]
    ///
    /// A pipe is read to its end once, at most 1 GiB, and each trial reads all of it. With `--stdin /dev/null` the pipe
    /// is not read.
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = WORKLOAD)]
    pub stdin: Option<PathBuf>,

    /// Output of the workload: show, discard, keep [default: discard]
    ///
    /// `show` prints it on stderr, because stdout is for the result. `keep` writes files next to the record:
    /// NAME.output/0000.stdout and so on, by the number of the trial. The end of stderr is always kept to report a
    /// failure.
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_name = "WHAT", help_heading = WORKLOAD)]
    pub output: Option<Streams>,

    /// Working directory of the workload
    #[arg(long, hide_short_help = true, value_name = "DIR", help_heading = WORKLOAD)]
    pub directory: Option<PathBuf>,

    /// Kill a trial after TIME
    ///
    /// The whole process tree is killed, and the trial counts as failed.
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = parse_duration, help_heading = WORKLOAD)]
    pub timeout: Option<Duration>,

    /// Read its memory at exit: on, off [default: on]
    ///
    /// This traces the main process (ptrace); the time is subtracted from its wall time. Leak
    /// checkers and debuggers that trace the process themselves need `off`.
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_name = "WHEN", help_heading = WORKLOAD)]
    pub exit_hold: Option<Switch>,

    /// Run each trial in a memory cgroup: on, off [default: off]
    ///
    /// Its peak, with the page cache of the whole process tree, can then be read.
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_name = "WHEN", help_heading = WORKLOAD)]
    pub own_cgroup: Option<Switch>,

    /// Count page walks where possible: on, off [default: on]
    ///
    /// Counting costs a little at each context switch, the same under every policy.
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_name = "WHEN", help_heading = WORKLOAD)]
    pub counters: Option<Switch>,

    #[command(flatten)]
    pub server: ServerOptions,

    /// Time kernel stalls: off, rare, all [default: rare]
    ///
    /// `rare` times direct compaction, direct reclaim, zeroing and splits, at next to no cost. `all` adds copy-on-write
    /// and waits for mmap_lock, at a fraction of a microsecond each. Needs CAP_BPF and CAP_PERFMON; the report shows if
    /// they are missing.
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_name = "WHICH", help_heading = JUDGE)]
    pub stalls: Option<StallChoice>,

    /// Metric that the workload prints: 'NAME=REGEX'
    ///
    /// In full `NAME[:UNIT][:lower|:higher]=REGEX`: the first group of the regular expression is the number; lower (or
    /// higher) is better. For example 'tps:1/s:higher=tps = ([0-9.]+)'. Several matches are the values of one trial if
    /// their lines differ only in numbers; else they are refused. A part of a number (1 of 2,1) and a number in another
    /// unit are refused too; a time is converted.
    #[arg(long, value_name = "METRIC", help_heading = JUDGE)]
    pub metric: Vec<PrintedMetric>,

    /// Request latencies: `READER[@UNIT][:FILE]`
    ///
    /// READER: wrk, wrk2, redis-benchmark, memtier, pgbench-log, hdr-log, hgrm, jmh, google-benchmark, go, hyperfine,
    /// k6, vegeta, hey, oha, locust, fio, ycsb, csv:COLUMN or jsonl:FIELD, with @ns, @us, @ms or @s if the source does
    /// not name its unit. It reads stdout, or the files that the trial wrote (the last part of FILE may hold * and ?;
    /// with --service, {dir}/FILE is in the folder of the trial). Percentiles cover all trials together. After a COLUMN
    /// or FIELD, `,ended=COLUMN@UNIT` (or `,began=`) names the time of each request since 1970, for `report --timeline`
    /// and for slow requests in stalls. `,where=COLUMN=VALUE` selects rows; `,failed=COLUMN`, `,ok=COLUMN` or
    /// `,status=COLUMN` marks failed requests.
    #[arg(long, value_name = "READER", help_heading = JUDGE)]
    pub latency: Option<LatencySource>,

    /// Decide by: typical, mean, p95 or a metric [default: latency, else time]
    ///
    /// By default a policy is judged by its typical run, and must make no run worse. `typical` accepts rare runs that
    /// are worse; `mean` compares the cost of many runs; `p95` is compared after all rounds.
    #[arg(long, hide_short_help = true, alias = "verdict-metric", value_name = "WHAT", help_heading = JUDGE)]
    pub judge_by: Option<Criterion>,

    #[command(flatten)]
    pub demands: Demands,

    /// The command and its arguments, or an experiment file (*.toml)
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
