//! The results for commands, record after record, and their changes.

use serde::Serialize;

use crate::base::host::Host;
use crate::base::units::Unit;
use crate::run::answer::Word;
use crate::run::compare::labels::{effect_of_ratio, metric_of};
use crate::run::compare::medians::Medians;
use crate::run::compare::{Change, CompareError, Comparison, Statistic, Verdict, deciding};
use crate::run::plan::HostMemory;
use crate::run::record::{Record, StopReason};
use crate::run::report::Report;
use crate::run::stats::{ALPHA, median, splits};
use crate::text::number::quantity;
use crate::text::wrap::{display_width, plain, shortened};

mod document;
mod figures;
mod foretold;
mod pooled;
#[cfg(test)]
mod tests;

pub use foretold::{Foretold, NextSession, SessionPlaces, Unit as NextUnit};
pub use pooled::{is_again, next_session, on_other_memory, together};

/// The summary of one record.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Entry {
    /// The path of the record.
    pub path: String,
    /// When it was started, in milliseconds since 1970 (UTC).
    pub created_unix_ms: u64,
    /// The command.
    pub command: Vec<String>,
    /// The suite of a bench, which has many cells and no single answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bench: Option<String>,
    /// The kernel.
    pub kernel: String,
    /// The kernel's boot identifier; empty if it is unknown, or if the record was continued on another boot.
    pub boot_id: String,
    /// The machine.
    #[serde(skip)]
    pub host: Host,
    /// The state of free memory in the host before each trial.
    pub host_memory: HostMemory,
    /// The names of the policies.
    pub policies: Vec<String>,
    /// The median under the baseline of the verdict metric; `None` if it was not read.
    pub baseline_value: Option<f64>,
    /// Its unit.
    #[serde(skip)]
    pub unit: Unit,
    /// Why no further round was run; `None` if it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<StopReason>,
    /// The verdict in one word.
    pub word: Word,
    /// The answer.
    pub verdict: Verdict,
    /// The comparison for each policy in the verdict metric.
    pub effects: Vec<Comparison>,
}

impl Entry {
    /// Creates the entry of a record.
    ///
    /// # Errors
    /// Fails if its plan contains a policy or a metric that does not exist.
    pub fn of(record: &Record, path: String) -> Result<Self, CompareError> {
        let table = deciding(record)?;
        let header = &record.header;
        let report = Report::new(record, table, None);
        let word = report.answer().word;
        let table = report.table;
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
            boot_id: only_boot(record),
            host: header.host.clone(),
            host_memory: header.plan.host_memory,
            policies: header
                .plan
                .policies
                .iter()
                .map(|it| it.name.clone())
                .collect(),
            baseline_value: value,
            unit,
            effects: effects.collect(),
            ended: record.end.as_ref().map(|end| end.reason),
            word,
            verdict: table.verdict,
        })
    }

    /// The value under the baseline with its unit.
    #[must_use]
    pub fn baseline_text(&self) -> Option<String> {
        Some(quantity(&self.unit, self.baseline_value?))
    }

    /// The comparison for a policy in the verdict metric.
    #[must_use]
    pub fn effect(&self, policy: &str) -> Option<&Comparison> {
        self.effects.iter().find(|it| it.policy == policy)
    }

    /// Returns true if the verdict metric, the baseline and the host memory are the same: cold memory changes times and
    /// effects as much as a new version would.
    fn is_like(&self, other: &Self) -> bool {
        let (own, its) = (&self.verdict, &other.verdict);
        own.metric == its.metric
            && own.baseline == its.baseline
            && self.host_memory == other.host_memory
    }

    /// The best policy with its effect, `thp=always −19.8 %`; for a single policy, its value. If that is wider than
    /// `width` columns, the name of the policy is cut, but not the effect.
    #[must_use]
    pub fn best(&self, width: usize) -> String {
        if let Some(suite) = &self.bench {
            return format!("bench {}", plain(suite));
        }
        if self.ended == Some(StopReason::WorkloadFails) {
            return "every trial failed".to_owned();
        }
        let Some(best) = &self.verdict.best else {
            let value = self.baseline_text().filter(|_| self.effects.is_empty());
            return value.unwrap_or_else(|| self.without_best().to_owned());
        };
        let change = self.effect(best).and_then(|it| it.ratio);
        let change = change.map(|ratio| format!(" {}", effect_of_ratio(ratio)));
        let change = change.unwrap_or_default();
        let room = width.saturating_sub(display_width(&change));
        format!("{}{change}", shortened(&plain(best), room))
    }

    /// The result without a best policy.
    fn without_best(&self) -> &'static str {
        match self.word {
            Word::NoDifference => "no difference",
            Word::Little => "matters little",
            Word::SamePages => "same pages",
            Word::CouldNotTry => "could not be tried",
            Word::Mixed | Word::RareSlow | Word::DependsOnOrder => "helps some runs",
            _ => "not decided",
        }
    }

    /// The effect of a policy: in brackets if it is undecided, `=` if there is none.
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

/// The boot on which all trials ran; empty if there are several.
fn only_boot(record: &Record) -> String {
    let boot = &record.header.host.boot_id;
    let mut continued = record.continuations.iter();
    match continued.all(|it| it.boot_id == *boot) {
        true => boot.clone(),
        false => String::new(),
    }
}

/// The requested records.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The oldest first.
    pub entries: Vec<Entry>,
    /// The changes of one command; empty for several.
    pub splits: Vec<Split>,
    /// The prediction for the next session of one command; empty for several.
    pub next: NextSession,
    /// True if all records are of one command.
    is_of_one: bool,
}

impl History {
    /// Sorts the entries, and detects changes if all are of one command.
    #[must_use]
    pub fn of(mut entries: Vec<Entry>) -> Self {
        entries.sort_by_key(|entry| entry.created_unix_ms);
        let first = entries.first().map(|entry| &entry.command);
        let is_of_one = entries.len() > 1 && entries.iter().all(|it| Some(&it.command) == first);
        let splits = if is_of_one {
            changes(&entries)
        } else {
            Vec::new()
        };
        let next = match is_of_one {
            true => NextSession::of(&entries, &splits),
            false => NextSession::default(),
        };
        Self {
            entries,
            splits,
            next,
            is_of_one,
        }
    }

    /// Returns true if the records have different host memory, so that each has to show it.
    fn memory_differs(&self) -> bool {
        let states = self.entries.windows(2);
        states
            .into_iter()
            .any(|it| it[0].host_memory != it[1].host_memory)
    }

    /// The medians of the level that ends before a split, and of the level that begins with it.
    fn medians_around(&self, split: &Split) -> [Option<f64>; 2] {
        let Some(last) = self.entries.last() else {
            return [None, None];
        };
        let like = self.splits.iter().filter(|it| it.policy == split.policy);
        let others: Vec<usize> = like.map(|it| it.at).collect();
        let begins = others.iter().copied().filter(|at| *at < split.at);
        let ends = others.iter().copied().filter(|at| *at > split.at);
        let begin = begins.max().unwrap_or(0);
        let end = ends.min().unwrap_or(self.entries.len());
        let known = series(&self.entries, last, split.policy.as_deref());
        [begin..split.at, split.at..end].map(|level| {
            let own = known.iter().filter(|(at, _)| level.contains(at));
            median(&own.map(|(_, value)| *value).collect::<Vec<f64>>())
        })
    }
}

/// A fixed seed, so that the same history has the same splits.
const SEED: u64 = 1;

/// A position in a history at which a new level begins.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Split {
    /// The first record of the new level, by its index in the history.
    pub at: usize,
    /// The policy whose effect changed; `None` for the value under the baseline.
    pub policy: Option<String>,
}

/// Detects changes in the history of one command, the oldest record first: in the baseline's value, and in each
/// policy's effect. At most 5 % of the histories without a change have any split. Records with another metric, baseline
/// or host memory than the last are skipped.
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

/// The baseline's value, or a policy's effect, by the index of the record; records unlike the last have none.
fn series(entries: &[Entry], last: &Entry, policy: Option<&str>) -> Vec<(usize, f64)> {
    let value = |(at, entry): (usize, &Entry)| {
        let value = match policy {
            None => entry.baseline_value,
            Some(policy) => entry.effect(policy)?.ratio,
        };
        Some((at, value.filter(|_| entry.is_like(last))?))
    };
    entries.iter().enumerate().filter_map(value).collect()
}

fn of_series(entries: &[Entry], last: &Entry, policy: Option<&str>, alpha: f64) -> Vec<Split> {
    let known = series(entries, last, policy);
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let found = splits(&values, alpha, SEED).into_iter();
    let found = found.map(|at| Split {
        at: known[at].0,
        policy: policy.map(str::to_owned),
    });
    found.collect()
}
