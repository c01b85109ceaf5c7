//! What was measured on this machine, and what it means for a rule.

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
    /// File of the record.
    pub record: String,
    /// When it was made, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The command; a line of the shell is split at blanks.
    pub command: Vec<String>,
    /// Kernel release.
    pub kernel: String,
    /// The policy.
    pub policy: String,
    /// The metric that decides.
    pub metric: String,
    /// Its change with the interval, as ratios: 0.97 is 3 % less. Nothing where the policy left the experiment
    /// before it had an interval, because it changed no page.
    pub change: Option<[f64; 3]>,
    /// What is decided; nothing where the rounds do not tell.
    pub outcome: Option<Change>,
    /// Whether it changed no page, so that its time says nothing of huge pages.
    pub changed_no_page: bool,
    /// What it makes worse besides, such as `peak memory +15.8 %`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<String>,
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

/// What a record says of each of its policies against the machine as it is, where it says anything.
#[must_use]
pub fn measurements(record: &Record, path: &str) -> Vec<Measurement> {
    let header = &record.header;
    let plan = &header.plan;
    // Against another policy, a change is none of the machine as it is.
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
        // What was not in force says nothing of its policy.
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

/// Whether a policy sets how it is put in force and nothing else, so that it is no advice.
fn changes_nothing(record: &Record, name: &str) -> bool {
    record.header.plan.is_overhead_control(name)
}

/// The words of a command, which may be a line of the shell.
fn words(command: &[String]) -> Vec<String> {
    let words = command
        .iter()
        .flat_map(|word| word.split_ascii_whitespace());
    let words = words.skip_while(|word| *word == "exec");
    words.map(str::to_owned).collect()
}

/// Words that say what a program works on: its name and what is no option, without folders.
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
    /// Whether it is of this program on this kernel. A program of an interpreter is told by its words; options may differ.
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
        // A script may have its interpreter in front.
        let is_same =
            significant(words) == own || words.len() > 1 && significant(&words[1..]) == own;
        match subject.is_some_and(|subject| subject.kind == SubjectKind::Runtime) {
            true => is_same,
            false => is_same || name == observed.name,
        }
    }

    /// Whether it tells of what a rule recommends.
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

    /// What is decided, in a word or two.
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

    /// When it was made: a day.
    #[must_use]
    pub fn day(&self) -> String {
        date(self.unix_ms)
    }

    /// The policy, what is decided and the change, for people.
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

    /// By which name `hugewise report` finds the record in the user's folder.
    #[must_use]
    pub fn name(&self) -> &str {
        let name = self.record.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".jsonl").unwrap_or(name)
    }

    /// The change with its interval, for people; `None` where none is known.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let change = change_words(&self.metric, self.change?);
        Some(format!("{change} with {}", self.policy))
    }
}

/// What is said of policies that changed no page: how their times differ is no effect of huge pages.
pub(super) fn said_idle(policies: &[&str]) -> String {
    format!("{} changed no page", policies.join(", "))
}
