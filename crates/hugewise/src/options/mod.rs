//! What an experiment is made of, as flags of `run` and as keys of a file.
//!
//! Both are the same structure, so that whatever one can say the other can.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hugewise_model::base::units::parse_duration;
use hugewise_model::run::gate::Gate;
use hugewise_model::run::plan::LatencySource;
use hugewise_model::run::plan::PrintedMetric;
use hugewise_model::run::plan::service::{CommandLine, Ready, StopSignal};
use hugewise_model::run::policy::{Axis, Policy, offered_keys};
use serde::Deserialize;

mod choices;
mod file;
mod parse;
mod service;

pub use choices::{LoadUnder, Processors, StallChoice, Streams, Switch};
pub use parse::{parse_fragment, parse_interval, parse_share};

use parse::{command, duration, fragment, parsed, parsed_all, share};

/// The keys of a policy come from their table.
fn policy_help() -> String {
    format!(
        "Policy to try, as thp=never; repeat for more\n\n\
         In full `[NAME:]KEY=VALUE[,KEY=VALUE…]`. Keys: {}. java.NAME takes + or - for a flag \
         that is on or off; postgres.NAME and redis.NAME fill {{postgres.NAME}} in the command. \
         `as-is` is the machine as it is. The first policy is the baseline unless --baseline \
         names another. Without any: the machine as it is, thp=never, and what else is reachable.",
        offered_keys()
    )
}

/// What an experiment is made of; every field is a flag of `run` and a key of the file.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// Policy to try, as thp=never; repeat for more
    #[arg(
        long = "policy",
        value_name = "POLICY",
        help_heading = "What to try",
        long_help = policy_help()
    )]
    #[serde(alias = "policies", deserialize_with = "parsed_all")]
    pub policy: Vec<Policy>,

    /// Policies from the values of keys, crossed
    #[arg(long = "matrix", value_name = "KEY=V,V", help_heading = "What to try")]
    #[serde(deserialize_with = "parsed_all")]
    pub matrix: Vec<Axis>,

    /// Name of the policy that the others are compared with
    #[arg(long, value_name = "NAME", help_heading = "What to try")]
    pub baseline: Option<String>,

    /// Allow policies that write the machine's own settings
    ///
    /// They are written for each trial and put back after it; what a killed experiment left,
    /// the next one puts back, or `hugewise doctor --undo`.
    #[arg(long, help_heading = "What to try")]
    pub system: bool,

    /// Keep this share of free memory in small blocks, as 80%
    ///
    /// Small is a block that no huge page fits into. Needs --system. A process beside the trials
    /// holds memory for it, repairs the state before each trial, and ends with the experiment; the
    /// state is read before each trial. Where more is in small blocks already, it stays so.
    #[arg(long, value_name = "SHARE", value_parser = parse_fragment, help_heading = "What to try")]
    #[serde(deserialize_with = "fragment")]
    pub fragment: Option<u32>,

    /// Stop when the verdict is known to ± this, as 0.5%
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "When to stop")]
    #[serde(deserialize_with = "share")]
    pub precision: Option<f64>,

    /// Smallest effect of practical interest [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "When to stop")]
    #[serde(deserialize_with = "share")]
    pub threshold: Option<f64>,

    /// No decision before this many rounds [default: 10]
    #[arg(long, value_name = "N", help_heading = "When to stop")]
    pub min_rounds: Option<u32>,

    /// Never more rounds than this [default: 40]
    #[arg(long, value_name = "N", help_heading = "When to stop")]
    pub max_rounds: Option<u32>,

    /// Begin no new round after this time, for example 5m
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "When to stop")]
    #[serde(deserialize_with = "duration")]
    pub max_time: Option<Duration>,

    /// Rounds run first and not measured [default: 1]
    #[arg(long, value_name = "N", help_heading = "The workload")]
    pub warmup: Option<u32>,

    /// Seed of the order of trials [default: from the clock]
    #[arg(
        long,
        hide_short_help = true,
        value_name = "N",
        help_heading = "When to stop"
    )]
    pub seed: Option<u64>,

    /// The command is one line for /bin/sh
    #[arg(long, help_heading = "The workload")]
    pub shell: bool,

    /// Shell line run once before everything
    #[arg(long, value_name = "LINE", help_heading = "The workload")]
    pub setup: Option<String>,

    /// Shell line run before every trial, not measured
    #[arg(long, value_name = "LINE", help_heading = "The workload")]
    pub prepare: Option<String>,

    /// Shell line run after every trial, not measured
    ///
    /// It is run after Ctrl-C as well, as --cleanup is.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "LINE",
        help_heading = "The workload"
    )]
    pub conclude: Option<String>,

    /// Shell line run once after everything
    ///
    /// It is run after a failure and after Ctrl-C as well; only a further Ctrl-C, a second
    /// later or more, ends it.
    #[arg(long, value_name = "LINE", help_heading = "The workload")]
    pub cleanup: Option<String>,

    /// Stdin of each trial [default: /dev/null]
    #[arg(
        long,
        hide_short_help = true,
        value_name = "FILE",
        help_heading = "The workload"
    )]
    pub stdin: Option<PathBuf>,

    /// Its output: show, discard, keep [default: discard]
    ///
    /// It is shown on stderr, because stdout is for the result; it is kept in files beside the
    /// record, NAME.output/0000.stdout and so on, by the number of the trial. The end of the workload's
    /// stderr is kept in any case, for the report of a failure.
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "WHAT",
        help_heading = "The workload"
    )]
    pub output: Option<Streams>,

    /// Working directory of the workload
    #[arg(long, value_name = "DIR", help_heading = "The workload")]
    pub directory: Option<PathBuf>,

    /// Kill a trial's process tree after this time
    ///
    /// The trial has failed then.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "The workload")]
    #[serde(deserialize_with = "duration")]
    pub timeout: Option<Duration>,

    /// Read its memory at its end: on, off [default: on]
    ///
    /// The main process is traced for that (ptrace), and the time is taken out of its wall
    /// time. Leak checkers and debuggers that want to trace it themselves need `off`.
    #[arg(
        long,
        hide_short_help = true,
        value_enum,
        hide_possible_values = true,
        value_name = "WHEN",
        help_heading = "The workload"
    )]
    pub exit_hold: Option<Switch>,

    /// Memory cgroup per trial: on, off [default: off]
    ///
    /// Its peak, with the page cache of the whole tree, can be read then.
    #[arg(
        long,
        hide_short_help = true,
        value_enum,
        hide_possible_values = true,
        value_name = "WHEN",
        help_heading = "The workload"
    )]
    pub own_cgroup: Option<Switch>,

    /// Count page walks if possible: on, off [default: on]
    ///
    /// Counting costs a little at each switch between tasks, alike under every policy.
    #[arg(
        long,
        hide_short_help = true,
        value_enum,
        hide_possible_values = true,
        value_name = "WHEN",
        help_heading = "The workload"
    )]
    pub counters: Option<Switch>,

    /// The server, as one line for /bin/sh; it is the command
    ///
    /// A trial then starts it under the policy, waits until it is --ready, runs --load, and stops
    /// it. What is read is of its process tree while the load ran. In its line and in those of the
    /// load, {port} is a port that is free, and {dir} a folder that is made for the trial and
    /// removed after it.
    #[arg(long, value_name = "LINE", help_heading = "A server under load")]
    pub service: Option<CommandLine>,

    /// Ready when: tcp:PORT, http://…, log:REGEX, exec:LINE
    ///
    /// In full `tcp:[HOST:]PORT`, which accepts a connection; http://HOST:PORT/PATH, which answers
    /// with a status from 200 to 399; log:REGEX, which matches what the server printed; exec:LINE,
    /// which is run again and again until it succeeds. PORT may be {port}.
    #[arg(long, value_name = "HOW", help_heading = "A server under load")]
    #[serde(deserialize_with = "parsed")]
    pub ready: Option<Ready>,

    /// What loads the server, as long as the trial lasts
    #[arg(long, value_name = "LINE", help_heading = "A server under load")]
    pub load: Option<CommandLine>,

    /// What loads the server first, and is not measured
    #[arg(
        long,
        hide_short_help = true,
        value_name = "LINE",
        help_heading = "A server under load"
    )]
    pub warm_up_load: Option<CommandLine>,

    /// How long the server may take to be ready [default: 60s]
    #[arg(
        long,
        hide_short_help = true,
        value_name = "TIME",
        value_parser = parse_duration,
        help_heading = "A server under load"
    )]
    #[serde(deserialize_with = "duration")]
    pub ready_timeout: Option<Duration>,

    /// Policy of the load: none, same [default: none]
    ///
    /// With `none` the load is the same in every trial, as far as the policy is the server's alone:
    /// settings of the machine hold for both.
    #[arg(
        long,
        hide_short_help = true,
        value_enum,
        hide_possible_values = true,
        value_name = "WHICH",
        help_heading = "A server under load"
    )]
    pub load_policy: Option<LoadUnder>,

    /// The signal that asks the server to end [default: SIGTERM]
    #[arg(
        long,
        hide_short_help = true,
        value_name = "SIGNAL",
        help_heading = "A server under load"
    )]
    #[serde(deserialize_with = "parsed")]
    pub stop_signal: Option<StopSignal>,

    /// The line that asks the server to end, in the place of a signal
    #[arg(
        long,
        hide_short_help = true,
        value_name = "LINE",
        help_heading = "A server under load"
    )]
    pub stop_command: Option<CommandLine>,

    /// How long the server may take to end before it is killed [default: 10s]
    #[arg(
        long,
        hide_short_help = true,
        value_name = "TIME",
        value_parser = parse_duration,
        help_heading = "A server under load"
    )]
    #[serde(deserialize_with = "duration")]
    pub grace: Option<Duration>,

    /// Processors of the server, as 0-3,8
    #[arg(
        long,
        hide_short_help = true,
        value_name = "LIST",
        help_heading = "A server under load"
    )]
    #[serde(deserialize_with = "parsed")]
    pub service_cpus: Option<Processors>,

    /// Processors of the load, as 4-7
    #[arg(
        long,
        hide_short_help = true,
        value_name = "LIST",
        help_heading = "A server under load"
    )]
    #[serde(deserialize_with = "parsed")]
    pub load_cpus: Option<Processors>,

    /// Kernel stalls: off, rare, all [default: rare]
    ///
    /// Direct compaction, direct reclaim, zeroing and splits are rare, so timing them costs next to
    /// nothing; `all` adds copy-on-write and waits for mmap_lock, at a fraction of a microsecond
    /// for each. Needs CAP_BPF and CAP_PERFMON; without them a reading says so.
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "WHICH",
        help_heading = "What to judge"
    )]
    pub stalls: Option<StallChoice>,

    /// Metric that the workload prints, as 'NAME=REGEX'
    ///
    /// In full `NAME[:UNIT][:lower|:higher]=REGEX`: the first group of the regular expression is
    /// the number, and lower (or higher) is better. For example 'tps:1/s:higher=tps = ([0-9.]+)'.
    #[arg(long, value_name = "METRIC", help_heading = "What to judge")]
    #[serde(alias = "metrics", deserialize_with = "parsed_all")]
    pub metric: Vec<PrintedMetric>,

    /// Latencies of requests, as `READER[@UNIT][:FILE]`
    ///
    /// READER: wrk, wrk2, redis-benchmark, memtier, pgbench-log, hdr-log, hgrm, jmh,
    /// google-benchmark, go, hyperfine, csv:COLUMN or jsonl:FIELD, with @ns, @us, @ms or @s where
    /// the source does not tell its unit. It reads stdout, or the files that the trial wrote (the
    /// last part of FILE may hold * and ?; with a --service, {dir}/FILE lies in the folder of the
    /// trial). Percentiles are those of all trials together. Behind a COLUMN or FIELD,
    /// `,ended=COLUMN@UNIT` (or `,began=`) says where the time of each request since 1970 stands,
    /// for `report --timeline` and slow requests in stalls.
    #[arg(long, value_name = "READER", help_heading = "What to judge")]
    #[serde(deserialize_with = "parsed")]
    pub latency: Option<LatencySource>,

    /// Metric of the verdict [default: latency, else time]
    #[arg(long, value_name = "NAME", help_heading = "What to judge")]
    pub verdict_metric: Option<String>,

    /// Exit with 5 if it is so, as 'wall_seconds > +2%'
    ///
    /// It is so when the whole interval of a policy lies beyond the limit. Repeat for more.
    #[arg(long, value_name = "CONDITION", help_heading = "What to judge")]
    #[serde(deserialize_with = "parsed_all")]
    pub fail_if: Vec<Gate>,

    /// The command and its arguments, or an experiment file (*.toml)
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    #[serde(deserialize_with = "command")]
    pub command: Vec<OsString>,
}
