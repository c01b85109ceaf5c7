//! From flags or a file to an experiment: the one place where words become a plan.
//!
//! The flags and the file are the same structure, so that whatever one can say the other can.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use hugewise_model::gate::Gate;
use hugewise_model::host::Host;
use hugewise_model::metric;
use hugewise_model::plan::{Bounds, Plan, PrintedMetric};
use hugewise_model::policy::realise::{Reach, Realisation, realise};
use hugewise_model::policy::{Axis, Policy, cross, defaults};
use hugewise_model::quantity::parse_duration;
use serde::{Deserialize, Deserializer};

use crate::{command, exit};

/// What an experiment is made of; every field is a flag of `run` and a key of the file.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// Policy to try, as thp=never; repeat for more
    ///
    /// In full `[NAME:]KEY=VALUE[,KEY=VALUE…]`. Keys: thp=never|madvise|always|inherit, defrag=…, mthp=64k:always+2m:inherit,
    /// zero_page=0|1, khugepaged.FILE=N,
    /// malloc=default|thp|hugetlb|jemalloc|mimalloc|tcmalloc, env.NAME=VALUE. `as-is` is the
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

    /// Metric that the workload prints, as 'NAME=REGEX'
    ///
    /// In full `NAME[:UNIT][:lower|:higher]=REGEX`: the first group of the regular expression is
    /// the number, and lower (or higher) is better. For example 'tps:1/s:higher=tps = ([0-9.]+)'.
    #[arg(long, value_name = "METRIC", help_heading = "What to judge")]
    #[serde(alias = "metrics", deserialize_with = "parsed_all")]
    pub metric: Vec<PrintedMetric>,

    /// Metric of the verdict [default: wall_seconds]
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
            metric: first(self.metric, file.metric),
            verdict_metric: self.verdict_metric.or(file.verdict_metric),
            fail_if: first(self.fail_if, file.fail_if),
            command: file.command,
        }
    }

    /// Whether the machine's settings may be written.
    pub fn reach(&self) -> Reach {
        if self.system {
            Reach::System
        } else {
            Reach::Process
        }
    }

    /// The plan on this host; `clock_seed` is used when no seed was given.
    pub fn plan(&self, host: &Host, clock_seed: u64) -> Result<Plan> {
        command::check(self)?;
        let policies = self.policies(host)?;
        Ok(Plan {
            command: self
                .command
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            shell: self.shell,
            baseline: baseline(self.baseline.as_deref(), &policies)?,
            policies,
            seed: self.seed.unwrap_or(clock_seed),
            bounds: self.bounds()?,
            verdict_metric: self.checked_verdict_metric()?,
            printed: self.metric.clone(),
        })
    }

    fn policies(&self, host: &Host) -> Result<Vec<Policy>> {
        let mut policies = self.policy.clone();
        if !self.matrix.is_empty() {
            policies.extend(cross(&self.matrix).map_err(exit::usage)?);
        }
        if policies.is_empty() {
            policies = defaults(host, self.reach());
        }
        name_apart(&mut policies)?;
        Ok(policies)
    }

    fn bounds(&self) -> Result<Bounds> {
        let min_rounds = self.min_rounds.unwrap_or(10);
        let max_rounds = self.max_rounds.unwrap_or_else(|| min_rounds.max(40));
        if min_rounds == 0 {
            return Err(exit::usage("--min-rounds 0: need at least 1"));
        }
        if max_rounds < min_rounds {
            return match self.min_rounds {
                Some(_) => Err(exit::usage(format!(
                    "--max-rounds {max_rounds} is less than --min-rounds {min_rounds}"
                ))),
                None if max_rounds == 0 => Err(exit::usage("--max-rounds 0: need at least 1")),
                // Fewer rounds than the usual minimum were asked for: the interval will say
                // what they are worth.
                None => Ok(self.bounds_of(max_rounds, max_rounds)),
            };
        }
        Ok(self.bounds_of(min_rounds, max_rounds))
    }

    fn bounds_of(&self, min_rounds: u32, max_rounds: u32) -> Bounds {
        Bounds {
            threshold: self.threshold.unwrap_or(0.01),
            precision: self.precision,
            warmup_rounds: self.warmup.unwrap_or(1),
            min_rounds,
            max_rounds,
            max_time: self.max_time,
        }
    }

    fn checked_verdict_metric(&self) -> Result<String> {
        check_gates(&self.fail_if, &self.metric)?;
        let name = self.verdict_metric.as_deref().unwrap_or("wall_seconds");
        if is_known(name, &self.metric) {
            Ok(name.to_owned())
        } else {
            Err(exit::usage(format!(
                "--verdict-metric {name}: there is no such metric; {}",
                nearest(name)
            )))
        }
    }
}

/// Whether a metric is one of the table or of those that the workload prints.
fn is_known(name: &str, printed: &[PrintedMetric]) -> bool {
    metric::find(name).is_some() || printed.iter().any(|printed| printed.name == name)
}

/// Refuses conditions on metrics that do not exist: a gate with a typing error never closes.
pub fn check_gates(gates: &[Gate], printed: &[PrintedMetric]) -> Result<()> {
    match gates.iter().find(|gate| !is_known(&gate.metric, printed)) {
        None => Ok(()),
        Some(gate) => Err(exit::usage(format!(
            "--fail-if '{gate}': there is no metric `{}`; {}",
            gate.metric,
            nearest(&gate.metric)
        ))),
    }
}

/// A hint for a metric that does not exist.
fn nearest(name: &str) -> String {
    let common = |other: &str| {
        name.chars()
            .zip(other.chars())
            .take_while(|(a, b)| a == b)
            .count()
    };
    match metric::METRICS
        .iter()
        .max_by_key(|metric| common(&metric.name))
    {
        Some(metric) if common(&metric.name) >= 3 => format!("did you mean `{}`?", metric.name),
        _ => "for example wall_seconds, minor_faults_total, peak_rss_bytes".to_owned(),
    }
}

fn baseline(asked: Option<&str>, policies: &[Policy]) -> Result<String> {
    let Some(asked) = asked else {
        return Ok(policies
            .first()
            .map_or_else(String::new, |policy| policy.name.clone()));
    };
    if policies.iter().any(|policy| policy.name == asked) {
        return Ok(asked.to_owned());
    }
    let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
    Err(exit::usage(format!(
        "--baseline {asked}: no policy has that name; there are: {}",
        names.join(", ")
    )))
}

/// The same policy given twice is a fair question (an A/A test): the second gets a number.
/// The same name for different settings is not.
fn name_apart(policies: &mut [Policy]) -> Result<()> {
    let mut seen: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for index in 0..policies.len() {
        let name = policies[index].name.clone();
        if let Some((first, count)) = seen.get_mut(&name) {
            if policies[*first].settings != policies[index].settings {
                return Err(exit::usage(format!(
                    "two different policies are called `{name}`; give one of them another name"
                )));
            }
            *count += 1;
            policies[index].name = format!("{name} #{count}");
        } else {
            seen.insert(name, (index, 1));
        }
    }
    Ok(())
}

/// How every policy of the plan is reached, or all that stands in the way, before anything runs.
pub fn realise_all(
    plan: &Plan,
    host: &Host,
    reach: Reach,
) -> Result<BTreeMap<String, Realisation>> {
    let mut realisations = BTreeMap::new();
    let mut obstacles = Vec::new();
    for policy in &plan.policies {
        match realise(policy, host, reach) {
            Ok(realisation) => {
                realisations.insert(policy.name.clone(), realisation);
            }
            Err(unreachable) => {
                obstacles.extend(unreachable.iter().map(|obstacle| format!("  {obstacle}")));
            }
        }
    }
    if obstacles.is_empty() {
        return Ok(realisations);
    }
    Err(exit::refused(format!(
        "nothing was run, because this cannot be put in force here:\n{}",
        obstacles.join("\n")
    )))
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

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_share(&text)
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
    fn the_same_policy_twice_is_told_apart() {
        let mut policies = vec![Policy::as_is(), Policy::as_is(), Policy::as_is()];
        name_apart(&mut policies).expect("equal settings");
        let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
        assert_eq!(names, ["as-is", "as-is #2", "as-is #3"]);
    }

    #[test]
    fn one_name_for_two_policies_is_refused() {
        let mut other = Policy::as_is();
        other.settings.thp = Some(hugewise_model::policy::Thp::Never);
        let error = name_apart(&mut [Policy::as_is(), other]).expect_err("one name, two policies");
        assert!(error.to_string().contains("as-is"), "{error}");
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
