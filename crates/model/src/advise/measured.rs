//! What was measured on this machine, and what it means for a rule.

use serde::Serialize;

use super::rule::{Change, Effects, Rule};
use super::tried::change_words;
use crate::run::compare::{Answer, Comparison, Options, Statistic, table};
use crate::run::record::Record;

/// The effect of a policy on a program, from a record on this machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// File of the record.
    pub record: String,
    /// When it was made, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The program, as it was called.
    pub program: String,
    /// Kernel release.
    pub kernel: String,
    /// The policy.
    pub policy: String,
    /// The metric that decides.
    pub metric: String,
    /// Its change with the interval, as ratios: 0.97 is 3 % less.
    pub change: [f64; 3],
    /// What is decided; nothing where the rounds do not tell.
    pub outcome: Option<Change>,
}

/// What a measurement means for a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Belief {
    /// The effect came as the rule says.
    Confirmed,
    /// It came otherwise.
    Refuted,
}

/// What a record says of each of its policies, where it says anything.
#[must_use]
pub fn measurements(record: &Record, path: &str) -> Vec<Measurement> {
    let Ok(table) = table(record, &Options::default()) else {
        return Vec::new();
    };
    let header = &record.header;
    let of = |row: &Comparison| {
        Some(Measurement {
            record: path.to_owned(),
            unix_ms: header.created_unix_ms,
            program: program(&header.plan.command)?.to_owned(),
            kernel: header.host.kernel.clone(),
            policy: row.policy.clone(),
            metric: row.metric.clone(),
            change: [row.ratio?, row.low?, row.high?],
            outcome: outcome(*table.verdict.policies.get(&row.policy)?),
        })
    };
    let rows = table.comparisons.iter();
    rows.filter(|row| row.metric == table.verdict.metric && row.statistic == Statistic::Center)
        .filter_map(of)
        .collect()
}

/// The program of a command, which may be a line of the shell.
fn program(command: &[String]) -> Option<&str> {
    let mut words = command
        .iter()
        .flat_map(|word| word.split_ascii_whitespace());
    words.find(|word| *word != "exec")
}

fn outcome(answer: Answer) -> Option<Change> {
    match answer {
        Answer::Better => Some(Change::Better),
        Answer::Worse => Some(Change::Worse),
        Answer::NoDifference | Answer::NoEffect => Some(Change::None),
        Answer::Mixed | Answer::DependsOnOrder => Some(Change::Depends),
        Answer::NotDecided => None,
    }
}

impl Measurement {
    /// Whether it is of a program of this name on this kernel.
    #[must_use]
    pub fn is_of(&self, name: &str, kernel: &str) -> bool {
        self.program.rsplit('/').next() == Some(name) && self.kernel == kernel
    }

    /// Whether its policy is what a rule recommends.
    #[must_use]
    pub fn is_about(&self, rule: &Rule) -> bool {
        let set = rule.set.as_ref();
        set.and_then(|set| set.policy.as_ref()) == Some(&self.policy)
    }

    /// What it means for a rule that says something of this metric.
    #[must_use]
    pub fn belief(&self, rule: &Rule) -> Option<Belief> {
        match (self.said(&rule.effects)?, self.outcome?) {
            (Change::Depends, _) | (_, Change::Depends) => None,
            (said, came) if said == came => Some(Belief::Confirmed),
            _ => Some(Belief::Refuted),
        }
    }

    /// What a rule says of the metric.
    fn said(&self, effects: &Effects) -> Option<Change> {
        match self.metric.as_str() {
            metric if metric.starts_with("latency") => effects.p99,
            _ => effects.wall,
        }
    }

    /// The change with its interval, for people.
    #[must_use]
    pub fn words(&self) -> String {
        let change = change_words(&self.metric, self.change);
        format!("{change} with {}", self.policy)
    }
}
