//! Measurements on this machine, and their meaning for a rule.

use serde::Serialize;

use super::knowledge::Knowledge;
use super::observation::Observation;
use super::rule::{Change, Effects, Rule};
use super::subject::SubjectKind;
use super::tried::change_words;
use hugewise_base::calendar::date;
use hugewise_experiment::run::answer::changed_no_page;
use hugewise_experiment::run::cause::{Context, facts};
use hugewise_experiment::run::compare::labels::{effect_of, label_of};
use hugewise_experiment::run::compare::{Comparison, Options, PolicyAnswer, Statistic, table};
use hugewise_experiment::run::policy::Settings;
use hugewise_experiment::run::record::Record;

/// The effect of a policy on a program, from a record on this machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// The file of the record.
    pub record: String,
    /// Time of the measurement, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The command; a shell line is split at spaces.
    pub command: Vec<String>,
    /// Kernel release.
    pub kernel: String,
    /// The policy.
    pub policy: String,
    /// The metric of the verdict.
    pub metric: String,
    /// The change with its interval, as ratios: 0.97 is 3 % less. `None` if the policy changed no page and left the
    /// experiment before it had an interval.
    pub change: Option<[f64; 3]>,
    /// The decision; `None` if the rounds did not decide.
    pub outcome: Option<Change>,
    /// True if the policy changed no page, so its time shows nothing about huge pages.
    pub changed_no_page: bool,
    /// Metrics that it makes worse, such as `peak memory +15.8 %`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<String>,
}

/// The meaning of a measurement for a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Belief {
    /// The effect agrees with the rule.
    Confirmed,
    /// The effect contradicts the rule.
    Refuted,
}

/// Returns the results of a record: each of its policies compared with the unchanged machine, if available.
#[must_use]
pub fn measurements(record: &Record, path: &str) -> Vec<Measurement> {
    let header = &record.header;
    let plan = &header.plan;
    // A change against another policy is not a change against the unchanged machine.
    let is_usual = plan.policies[plan.baseline_index()].settings == Settings::default();
    let table = table(record, &Options::default());
    let Some(table) = table.ok().filter(|_| is_usual) else {
        return Vec::new();
    };
    let command = words(&plan.command);
    let context = Context::new(record, &table);
    let of = |row: &Comparison| {
        let answer = *table.verdict.policies.get(&row.policy)?;
        let changed_no_page = changed_no_page(&context, &row.policy);
        // If a policy was not active, its result is not about that policy.
        if table.verdict.reasons.contains_key(&row.policy) && !changed_no_page {
            return None;
        }
        let interval = row.ratio.zip(row.low).zip(row.high);
        let change = interval.map(|((ratio, low), high)| [ratio, low, high]);
        if change.is_none() && !changed_no_page {
            return None;
        }
        Some(Measurement {
            record: path.to_owned(),
            unix_ms: header.created_unix_ms,
            command: command.clone(),
            kernel: header.host.kernel.clone(),
            policy: row.policy.clone(),
            metric: row.metric.clone(),
            change,
            outcome: outcome(answer),
            changed_no_page,
            prices: facts::prices(record, &table, &row.policy)
                .into_iter()
                .map(|price| price_text(record, price))
                .collect(),
        })
    };
    let rows = table.comparisons.iter();
    rows.filter(|row| row.metric == table.verdict.metric && row.statistic == Statistic::Center)
        .filter(|row| !changes_nothing(record, &row.policy))
        .filter_map(of)
        .collect()
}

/// A price with its label, such as `peak memory +15.8 %`.
fn price_text(record: &Record, row: &Comparison) -> String {
    let label = label_of(record, &row.metric, row.statistic);
    format!("{label} {}", effect_of(record, row)).replace(", ", " ")
}

/// Returns true if a policy sets only how it is applied, so it is not a recommendation.
fn changes_nothing(record: &Record, name: &str) -> bool {
    record.header.plan.is_overhead_control(name)
}

/// The words of a command, which can be a shell line.
fn words(command: &[String]) -> Vec<String> {
    let words = command
        .iter()
        .flat_map(|word| word.split_ascii_whitespace());
    let words = words.skip_while(|word| *word == "exec");
    words.map(str::to_owned).collect()
}

/// The words that identify the work of a program: its name and its operands, without directories.
fn significant(words: &[String]) -> Vec<&str> {
    let (program, rest) = words
        .split_first()
        .map_or(("", words), |(it, rest)| (it, rest));
    let rest = rest.iter().map(String::as_str);
    let rest = rest.filter(|word| !word.starts_with('-'));
    let all = std::iter::once(program).chain(rest);
    all.filter_map(|word| word.rsplit('/').next()).collect()
}

fn outcome(answer: PolicyAnswer) -> Option<Change> {
    match answer {
        PolicyAnswer::Better => Some(Change::Better),
        PolicyAnswer::Worse => Some(Change::Worse),
        PolicyAnswer::NoDifference => Some(Change::None),
        PolicyAnswer::Mixed | PolicyAnswer::RarelyWorse | PolicyAnswer::DependsOnOrder => {
            Some(Change::Depends)
        }
        PolicyAnswer::NotDecided | PolicyAnswer::NoEffect => None,
    }
}

impl Measurement {
    /// Returns true if the measurement is of this program on this kernel. Interpreted programs are identified by their
    /// arguments; options can differ.
    #[must_use]
    pub fn is_of(&self, knowledge: &Knowledge, observed: &Observation, kernel: &str) -> bool {
        if self.kernel != kernel {
            return false;
        }
        let own = significant(&self.command);
        let name = own.first().copied().unwrap_or_default();
        let subject = knowledge.called(name);
        let words = observed.command.as_ref().map(|command| &command.words[..]);
        let words = words.unwrap_or_default();
        // A script can have its interpreter in front.
        let is_same =
            significant(words) == own || words.len() > 1 && significant(&words[1..]) == own;
        match subject.is_some_and(|subject| subject.kind == SubjectKind::Runtime) {
            true => is_same,
            false => is_same || name == observed.name,
        }
    }

    /// Returns true if it measures the recommendation of a rule.
    #[must_use]
    pub fn is_about(&self, rule: &Rule) -> bool {
        let Some(set) = rule.set.as_ref().filter(|_| !self.changed_no_page) else {
            return false;
        };
        let is_arguments = || {
            let policy = set.arguments_policy();
            policy.is_some_and(|policy| policy.name == self.policy)
        };
        set.policy.as_ref() == Some(&self.policy) || is_arguments()
    }

    /// Returns its meaning for a rule that predicts this metric.
    #[must_use]
    pub fn belief(&self, rule: &Rule) -> Option<Belief> {
        match (self.said(&rule.effects)?, self.outcome?) {
            (Change::Depends, _) | (_, Change::Depends) => None,
            (said, came) if said == came => Some(Belief::Confirmed),
            _ => Some(Belief::Refuted),
        }
    }

    /// Returns the rule's prediction for the metric.
    fn said(&self, effects: &Effects) -> Option<Change> {
        match self.metric.as_str() {
            metric if metric.starts_with("latency") => effects.p99,
            _ => effects.wall,
        }
    }

    /// Returns the decision in one or two words.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self.outcome {
            Some(Change::Better) => "better",
            Some(Change::Worse) => "worse",
            Some(Change::None) => "no difference",
            Some(Change::Depends) => "better and worse",
            None => "not decided",
        }
    }

    /// Returns the day of the measurement.
    #[must_use]
    pub fn day(&self) -> String {
        date(self.unix_ms)
    }

    /// Returns the policy, the decision and the change, for people.
    #[must_use]
    pub fn account(&self) -> String {
        let change = self.change.filter(|_| !self.changed_no_page);
        match change {
            Some(change) => {
                let change = change_words(&self.metric, change);
                let prices = self.prices.join(", ");
                let but = if prices.is_empty() { "" } else { ", but " };
                format!("{} {}, {change}{but}{prices}", self.policy, self.verdict())
            }
            None => said_idle(&[&self.policy]),
        }
    }

    /// Returns the name by which `hugewise report` finds the record in the user's directory.
    #[must_use]
    pub fn name(&self) -> &str {
        let name = self.record.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".jsonl").unwrap_or(name)
    }

    /// Returns the change with its interval, for people; `None` if unknown.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let change = change_words(&self.metric, self.change?);
        Some(format!("{change} with {}", self.policy))
    }
}

/// The note on policies that changed no page: a time difference is not an effect of huge pages.
pub(super) fn said_idle(policies: &[&str]) -> String {
    format!("{} changed no page", policies.join(", "))
}
