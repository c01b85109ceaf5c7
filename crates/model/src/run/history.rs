//! What was measured of commands, record after record, and where a command changed.

use serde::Serialize;

use crate::run::compare::labels::{effect_of_ratio, metric_of};
use crate::run::compare::medians::Medians;
use crate::run::compare::{Change, CompareError, Comparison, Statistic, Verdict, deciding};
use crate::run::record::{Record, StopReason};
use crate::run::stats::{ALPHA, splits};
use crate::text::number::quantity;
use crate::text::wrap::plain;

/// What one record says, in short.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Entry {
    /// Where the record lies.
    pub path: String,
    /// When it was begun, in milliseconds since 1970 (UTC).
    pub created_unix_ms: u64,
    /// The command.
    pub command: Vec<String>,
    /// The suite of a bench, which has many cells and no one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bench: Option<String>,
    /// The kernel.
    pub kernel: String,
    /// The policies, as they are called.
    pub policies: Vec<String>,
    /// The median under the baseline of the metric that decides; `None` where it was not read.
    pub baseline_value: Option<f64>,
    /// The same with its unit, for people.
    #[serde(skip)]
    pub baseline_text: Option<String>,
    /// Why no further round was run; `None` where it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<StopReason>,
    /// The answer.
    pub verdict: Verdict,
    /// Each policy in the metric that decides.
    pub effects: Vec<Comparison>,
}

impl Entry {
    /// The entry of a record.
    ///
    /// # Errors
    /// When its plan names a policy or a metric that does not exist.
    pub fn of(record: &Record, path: String) -> Result<Self, CompareError> {
        let table = deciding(record)?;
        let header = &record.header;
        let metric = &table.verdict.metric;
        let effects = table.comparisons.into_iter();
        let effects =
            effects.filter(|it| it.metric == *metric && it.statistic == Statistic::Center);
        let value = Medians::of(record)
            .get(&table.verdict.baseline, metric)
            .ok();
        let unit = metric_of(record, metric).unit;
        Ok(Self {
            path,
            created_unix_ms: header.created_unix_ms,
            command: header.plan.command.clone(),
            bench: header.plan.bench.as_ref().map(|bench| bench.suite.clone()),
            kernel: header.host.kernel.clone(),
            policies: header
                .plan
                .policies
                .iter()
                .map(|it| it.name.clone())
                .collect(),
            baseline_value: value,
            baseline_text: value.map(|value| quantity(&unit, value)),
            effects: effects.collect(),
            ended: record.end.as_ref().map(|end| end.reason),
            verdict: table.verdict,
        })
    }

    /// A policy in the metric that decides.
    #[must_use]
    pub fn effect(&self, policy: &str) -> Option<&Comparison> {
        self.effects.iter().find(|it| it.policy == policy)
    }

    /// The best policy with what it changes, `thp=always −19.8 %`; of a single policy, its value.
    #[must_use]
    pub fn best(&self) -> String {
        if let Some(suite) = &self.bench {
            return format!("bench {}", plain(suite));
        }
        if self.ended == Some(StopReason::WorkloadFails) {
            return "every trial failed".to_owned();
        }
        let Some(best) = &self.verdict.best else {
            let value = self
                .baseline_text
                .clone()
                .filter(|_| self.effects.is_empty());
            return value.unwrap_or_else(|| "not decided".to_owned());
        };
        let change = self.effect(best).and_then(|it| it.ratio);
        let change = change.map(|ratio| format!(" {}", effect_of_ratio(ratio)));
        format!("{}{}", plain(best), change.unwrap_or_default())
    }

    /// What a policy changes: in brackets where that is not decided, `=` where nothing is changed.
    #[must_use]
    pub fn change(&self, policy: &str) -> Option<String> {
        let effect = self.effect(policy)?;
        let change = effect_of_ratio(effect.ratio?);
        Some(match effect.change {
            Change::NoDifference => "=".to_owned(),
            Change::CannotTell => format!("({change})"),
            Change::Higher | Change::Lower => change,
        })
    }
}

/// The same history has the same splits.
const SEED: u64 = 1;

/// A place in a history from which on something has another level.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Split {
    /// The first record of the new level, by its place in the history.
    pub at: usize,
    /// The policy whose effect changed; `None` for the value under the baseline.
    pub policy: Option<String>,
}

/// Where the history of one command, the oldest record first, changes: in what the baseline takes,
/// and in what each policy changes. Of a history in which nothing changes, at most 5 % have any
/// split. Records of another metric or baseline than that of the last are passed over.
#[must_use]
pub fn changes(entries: &[Entry]) -> Vec<Split> {
    let Some(last) = entries.last() else {
        return Vec::new();
    };
    let policies = last.effects.iter().map(|it| Some(it.policy.as_str()));
    let series: Vec<Option<&str>> = std::iter::once(None).chain(policies).collect();
    let alpha = ALPHA / series.len() as f64;
    let mut all: Vec<Split> = series
        .into_iter()
        .flat_map(|policy| of_series(entries, last, policy, alpha))
        .collect();
    all.sort_by_key(|split| split.at);
    all
}

fn of_series(entries: &[Entry], last: &Entry, policy: Option<&str>, alpha: f64) -> Vec<Split> {
    let alike = |entry: &Entry| {
        let (own, its) = (&entry.verdict, &last.verdict);
        own.metric == its.metric && own.baseline == its.baseline
    };
    let value = |(at, entry): (usize, &Entry)| {
        let value = match policy {
            None => entry.baseline_value,
            Some(policy) => entry.effect(policy)?.ratio,
        };
        Some((at, value.filter(|_| alike(entry))?))
    };
    let known: Vec<(usize, f64)> = entries.iter().enumerate().filter_map(value).collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let found = splits(&values, alpha, SEED).into_iter();
    let found = found.map(|at| Split {
        at: known[at].0,
        policy: policy.map(str::to_owned),
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at: u64, value: f64, ratio: f64) -> Entry {
        let effect = Comparison {
            metric: "wall_seconds".to_owned(),
            statistic: Statistic::Center,
            policy: "thp=always".to_owned(),
            baseline: "as-is".to_owned(),
            baseline_value: Some(value),
            policy_value: Some(value * ratio),
            scale: crate::run::compare::Scale::Ratio,
            ratio: Some(ratio),
            difference: None,
            low: None,
            high: None,
            p: None,
            n: 12,
            change: Change::Lower,
            warnings: Vec::new(),
        };
        Entry {
            path: format!("{at}.jsonl"),
            created_unix_ms: at,
            command: vec!["sort".to_owned()],
            bench: None,
            ended: None,
            kernel: "6.18".to_owned(),
            policies: vec!["as-is".to_owned(), "thp=always".to_owned()],
            baseline_value: Some(value),
            baseline_text: None,
            verdict: Verdict {
                metric: "wall_seconds".to_owned(),
                baseline: "as-is".to_owned(),
                best: Some("thp=always".to_owned()),
                ..Verdict::default()
            },
            effects: vec![effect],
        }
    }

    #[test]
    fn a_program_that_became_faster_has_a_new_level() {
        let wobble = |at: u64| (at * 7 % 5) as f64 * 0.01;
        let value = |at: u64| if at < 11 { 4.0 } else { 3.0 } + wobble(at);
        let mut entries: Vec<Entry> = (0..20)
            .map(|at| entry(at, value(at), 0.8 + wobble(at + 3) / 10.0))
            .collect();
        let split = Split {
            at: 11,
            policy: None,
        };
        assert_eq!(changes(&entries), [split]);
        // Records of another metric say nothing about this one.
        entries[15].verdict.metric = "user_seconds".to_owned();
        entries[15].baseline_value = Some(40.0);
        assert_eq!(changes(&entries).len(), 1);
        assert_eq!(entries[3].best(), "thp=always −19.8 %");
        assert!(changes(&entries[..7]).is_empty());
    }
}
