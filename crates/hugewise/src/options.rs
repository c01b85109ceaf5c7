//! What an experiment is made of, as flags of `run` and as keys of a file.
//!
//! Both are the same structure, so that whatever one can say the other can.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use hugewise_model::gate::Gate;
use hugewise_model::plan::PrintedMetric;
use hugewise_model::policy::{Axis, Policy};
use hugewise_model::quantity::parse_duration;
use hugewise_model::reader::LatencySource;
use serde::{Deserialize, Deserializer};

use crate::exit;

/// What an experiment is made of; every field is a flag of `run` and a key of the file.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// Policy to try, as thp=never; repeat for more
    ///
    /// In full `[NAME:]KEY=VALUE[,KEY=VALUE…]`. Keys: thp=never|madvise|always|inherit, defrag=…, mthp=64k:always+2m:inherit,
    /// zero_page=0|1, khugepaged.FILE=N,
    /// malloc=default|thp|hugetlb|jemalloc|mimalloc|tcmalloc, env.NAME=VALUE; java.FLAG=+|-|VALUE,
    /// go.NAME, glibc.TUNABLE, jemalloc.NAME, mimalloc.NAME, tcmalloc.NAME; postgres.NAME and
    /// redis.NAME fill {postgres.NAME} in the command. `as-is` is the
    /// machine as it is. The first policy is the baseline unless --baseline names another.
    /// Without any: the machine as it is, thp=never, and what else is reachable.
    #[arg(long = "policy", value_name = "POLICY", help_heading = "What to try")]
    #[serde(alias = "policies", deserialize_with = "parsed_all")]
    pub policy: Vec<Policy>,

    /// Policies from the values of a key; repeated keys are crossed
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

    /// Keep free memory in pieces: this share in blocks smaller than a huge page, as 80%
    ///
    /// Needs --system. A process beside the trials holds the pieces, repairs the state before each
    /// trial, and ends with the experiment; the state is read before each trial. What is in
    /// pieces already stays so.
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
    #[arg(long, value_name = "N", help_heading = "When to stop")]
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
    #[arg(long, value_name = "LINE", help_heading = "The workload")]
    pub conclude: Option<String>,

    /// Shell line run once after everything
    ///
    /// It is run after a failure and after Ctrl-C as well; only a further Ctrl-C, a second
    /// later or more, ends it.
    #[arg(long, value_name = "LINE", help_heading = "The workload")]
    pub cleanup: Option<String>,

    /// Stdin of each trial [default: /dev/null]
    #[arg(long, value_name = "FILE", help_heading = "The workload")]
    pub stdin: Option<PathBuf>,

    /// The workload's output: show, discard, keep [default: discard]
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

    /// Hold it at its end to read its memory: on, off [default: on]
    ///
    /// The main process is traced for that (ptrace), and the time is taken out of its wall
    /// time. Leak checkers and debuggers that want to trace it themselves need `off`.
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "WHEN",
        help_heading = "The workload"
    )]
    pub exit_hold: Option<Switch>,

    /// Give each trial a memory cgroup: on, off [default: off]
    ///
    /// Its peak, with the page cache of the whole tree, can be read then.
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "WHEN",
        help_heading = "The workload"
    )]
    pub own_cgroup: Option<Switch>,

    /// Count page walks where the hardware can: on, off [default: on]
    ///
    /// Counting costs a little at each switch between tasks, alike under every policy.
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "WHEN",
        help_heading = "The workload"
    )]
    pub counters: Option<Switch>,

    /// Kernel stalls by cause: off, rare, all [default: rare]
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
    /// last part of FILE may hold * and ?). Percentiles are those of all trials together.
    #[arg(long, value_name = "READER", help_heading = "What to judge")]
    #[serde(deserialize_with = "parsed")]
    pub latency: Option<LatencySource>,

    /// Metric of the verdict [default: wall_seconds, or that of --latency]
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

/// What becomes of the workload's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Streams {
    /// Thrown away (the end of stderr is kept for failures)
    Discard,
    /// Shown on stderr
    Show,
    /// Kept in files beside the record: NAME.output/0000.stdout and so on
    Keep,
}

/// Which stalls are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallChoice {
    /// None
    Off,
    /// Those that are rare
    Rare,
    /// Those that come with every fault and every change of the address space, too
    All,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// Do it
    On,
    /// Do not
    Off,
}
impl Options {
    /// Reads the experiment file where the command is one, with the flags in front.
    pub fn with_file(self) -> Result<Self> {
        let Some((first, more)) = self.command.split_first() else {
            return Ok(self);
        };
        let path = Path::new(first);
        if self.shell || path.extension().is_none_or(|extension| extension != "toml") {
            return Ok(self);
        }
        if !more.is_empty() {
            return Err(exit::usage(format!(
                "{} is an experiment file, and the command stands in it: leave out what follows",
                path.display()
            )));
        }
        let text = std::fs::read_to_string(path).map_err(|error| {
            exit::usage(format!(
                "reading the experiment file {}: {error}",
                path.display()
            ))
        })?;
        let file: Self = toml::from_str(&text)
            .map_err(|error| exit::usage(format!("{}: {error}", path.display())))?;
        Ok(self.over(file))
    }

    /// The flags where they are given, else the file.
    fn over(self, file: Self) -> Self {
        fn first<T>(flags: Vec<T>, file: Vec<T>) -> Vec<T> {
            if flags.is_empty() { file } else { flags }
        }
        // Policies and the matrix are one question: flags that answer it replace the file's answer.
        let (policy, matrix) = if self.policy.is_empty() && self.matrix.is_empty() {
            (file.policy, file.matrix)
        } else {
            (self.policy, self.matrix)
        };
        Self {
            policy,
            matrix,
            baseline: self.baseline.or(file.baseline),
            system: self.system || file.system,
            fragment: self.fragment.or(file.fragment),
            precision: self.precision.or(file.precision),
            threshold: self.threshold.or(file.threshold),
            min_rounds: self.min_rounds.or(file.min_rounds),
            max_rounds: self.max_rounds.or(file.max_rounds),
            max_time: self.max_time.or(file.max_time),
            warmup: self.warmup.or(file.warmup),
            seed: self.seed.or(file.seed),
            shell: self.shell || file.shell,
            setup: self.setup.or(file.setup),
            prepare: self.prepare.or(file.prepare),
            conclude: self.conclude.or(file.conclude),
            cleanup: self.cleanup.or(file.cleanup),
            stdin: self.stdin.or(file.stdin),
            output: self.output.or(file.output),
            directory: self.directory.or(file.directory),
            timeout: self.timeout.or(file.timeout),
            exit_hold: self.exit_hold.or(file.exit_hold),
            own_cgroup: self.own_cgroup.or(file.own_cgroup),
            counters: self.counters.or(file.counters),
            stalls: self.stalls.or(file.stalls),
            metric: first(self.metric, file.metric),
            latency: self.latency.or(file.latency),
            verdict_metric: self.verdict_metric.or(file.verdict_metric),
            fail_if: first(self.fail_if, file.fail_if),
            command: file.command,
        }
    }
}

/// A share as `1%` or `0.01`.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let fault = || format!("`{text}` is not a share; write 1% or 0.01");
    let share = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map_err(|_| fault())? / 100.0,
        None => text.trim().parse::<f64>().map_err(|_| fault())?,
    };
    if share.is_finite() && share > 0.0 && share < 1.0 {
        Ok(share)
    } else {
        Err(fault())
    }
}

/// A state of free memory as `80%`: the percentage in blocks smaller than a huge page.
pub fn parse_fragment(text: &str) -> Result<u32, String> {
    let fault = || format!("`{text}` is no state; write 80% (1% to 99%)");
    let digits = text.trim().strip_suffix('%').ok_or_else(fault)?;
    let percent = digits.trim().parse().ok();
    percent
        .filter(|percent| (1..=99).contains(percent))
        .ok_or_else(fault)
}

fn parsed_all<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let texts: Vec<String> = Vec::deserialize(deserializer)?;
    texts
        .iter()
        .map(|text| text.parse().map_err(serde::de::Error::custom))
        .collect()
}

fn parsed<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_share(&text)
        .map(Some)
        .map_err(serde::de::Error::custom)
}

fn fragment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_fragment(&text)
        .map(Some)
        .map_err(serde::de::Error::custom)
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text)
        .map(Some)
        .map_err(serde::de::Error::custom)
}

fn command<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<OsString>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "expected a line for the shell or a list of words"
    )]
    enum Command {
        Line(String),
        Words(Vec<String>),
    }
    Ok(match Command::deserialize(deserializer)? {
        Command::Line(line) => vec![line.into()],
        Command::Words(words) => words.into_iter().map(Into::into).collect(),
    })
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percent_or_fractions() {
        assert_eq!(parse_share("1%"), Ok(0.01));
        assert_eq!(parse_share("0.02"), Ok(0.02));
        for bad in ["", "0", "-1%", "100%", "1.5", "x%", "NaN"] {
            assert!(parse_share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_file_says_what_the_flags_say() {
        let file: Options = toml::from_str(
            r#"
            command = ["sort", "-n", "data"]
            policies = ["thp=never", "big:thp=always"]
            baseline = "big"
            system = true
            precision = "0.5%"
            max-time = "5m"
            metrics = ["tps:1/s:higher=tps = ([0-9.]+)"]
            fail-if = ["wall_seconds > +2%"]
            "#,
        )
        .expect("a good file");
        assert_eq!(file.policy.len(), 2);
        assert_eq!(file.precision, Some(0.005));
        assert_eq!(file.max_time, Some(Duration::from_secs(300)));
        assert_eq!(file.command.len(), 3);
        let error = toml::from_str::<Options>("polices = []").expect_err("a typing error");
        assert!(error.to_string().contains("polices"), "{error}");
    }
}
