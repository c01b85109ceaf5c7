//! The prediction interval for the next session of a command: one value a record, or one a boot.
//!
//! Two sessions differ by more than the trials of each, and two boots by more than two sessions. So the interval of one
//! record does not predict the next. Machines are never pooled.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Entry, Split, series};
use crate::run::compare::host_differences;
use crate::run::compare::labels::effect_of_ratio;
use crate::run::stats::{ALPHA, FEWEST_UNITS, Units};
use crate::text::ends::percent_ends;
use crate::text::number::{counted, quantity};
use crate::text::wrap::plain;

/// The unit of the prediction.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// The next session on the boot of the last record.
    Session,
    /// The next boot of the machine of the last record.
    Boot,
}

/// The 95 % prediction interval for a value of the next session.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Foretold {
    /// The policy, whose effect is a ratio; `None` for the value under the baseline.
    pub policy: Option<String>,
    /// The unit of the prediction.
    pub next: Unit,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of records used.
    pub records: usize,
    /// Number of their boots.
    pub boots: usize,
}

/// The origins of the records of a history. A record of an unknown boot counts as a separate boot.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq, Eq)]
pub struct SessionPlaces {
    /// Number of records.
    pub records: usize,
    /// Number of machines: hosts with different hardware, kernels or settings.
    pub machines: usize,
    /// Number of boots of the machine of the last record.
    pub boots: usize,
    /// Number of records on the boot of the last record.
    pub on_this_boot: usize,
}

/// The predictions for the next session of each series, and the origins of the records.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct NextSession {
    /// The baseline first, then each policy; series with fewer than three records, or three boots, are left out.
    pub foretold: Vec<Foretold>,
    /// The origins of the records.
    pub places: SessionPlaces,
}

impl NextSession {
    /// Predicts the next session of a history of one command, the oldest record first. Only the part of a series after
    /// its last change of level is used.
    pub(super) fn of(entries: &[Entry], splits: &[Split]) -> Self {
        let Some(last) = entries.last() else {
            return Self::default();
        };
        let policies = last.effects.iter().map(|it| Some(it.policy.as_str()));
        let all = std::iter::once(None).chain(policies);
        let foretold = all.filter_map(|policy| {
            let is_own = |split: &&Split| split.policy.as_deref() == policy;
            let from = splits.iter().filter(is_own).map(|it| it.at).max();
            foretold(entries, last, policy, from.unwrap_or(0))
        });
        Self {
            foretold: foretold.collect(),
            places: SessionPlaces::of(entries, last),
        }
    }

    /// The lines printed for a history.
    pub(super) fn lines(&self, last: &Entry) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for next in [Unit::Session, Unit::Boot] {
            let all = self.foretold.iter().filter(|it| it.next == next);
            let texts: Vec<String> = all.clone().map(|it| it.text(last)).collect();
            if let Some(first) = all.clone().next() {
                lines.push(format!(
                    "{} (95 %, {}): {}.",
                    next.words(),
                    first.rests_on(),
                    texts.join("; ")
                ));
            }
        }
        if lines.is_empty() {
            lines.push(self.places.without_interval());
        }
        lines.extend(self.places.not_pooled());
        lines
    }
}

impl Unit {
    fn words(self) -> &'static str {
        match self {
            Self::Session => "The next session on this boot",
            Self::Boot => "The next boot of this machine",
        }
    }
}

impl Foretold {
    /// `thp=always −21 to −18 %`.
    fn text(&self, last: &Entry) -> String {
        match &self.policy {
            None => {
                let [low, high] = [self.low, self.high].map(|end| quantity(&last.unit, end));
                format!("{} {low} to {high}", plain(&last.verdict.baseline))
            }
            Some(policy) => format!("{} {}", plain(policy), self.range()),
        }
    }

    fn range(&self) -> String {
        match self.high < 10.0 {
            true => {
                let [low, high] = percent_ends(self.low - 1.0, self.high - 1.0);
                format!("{low} to {high} %")
            }
            // Percentages of large factors are hard to read.
            false => [self.low, self.high].map(effect_of_ratio).join(" to "),
        }
    }

    fn rests_on(&self) -> String {
        let records = counted(self.records as u64, "record");
        match self.next {
            Unit::Session => records,
            Unit::Boot => format!("{records} of {}", counted(self.boots as u64, "boot")),
        }
    }

    /// `The next session on this boot: thp=always −21 to −18 % (95 %, 5 records)`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let policy = self.policy.as_deref().map(plain).unwrap_or_default();
        let (range, rests_on) = (self.range(), self.rests_on());
        format!("{}: {policy} {range} (95 %, {rests_on})", self.next.words())
    }
}

impl SessionPlaces {
    fn of(entries: &[Entry], last: &Entry) -> Self {
        let mut machines: Vec<&Entry> = Vec::new();
        for entry in entries {
            if !machines.iter().any(|it| is_same_machine(it, entry)) {
                machines.push(entry);
            }
        }
        let own = entries.iter().filter(|it| is_same_machine(it, last));
        let own: Vec<&Entry> = own.collect();
        let known = own.iter().filter(|it| !it.boot_id.is_empty());
        let mut boots: Vec<&str> = known.map(|it| it.boot_id.as_str()).collect();
        let unknown = own.len() - boots.len();
        boots.sort_unstable();
        boots.dedup();
        Self {
            records: entries.len(),
            machines: machines.len(),
            boots: boots.len() + unknown,
            on_this_boot: own.iter().filter(|it| is_same_boot(it, last)).count(),
        }
    }

    fn without_interval(&self) -> String {
        let missing = FEWEST_UNITS.saturating_sub(self.on_this_boot);
        let more = counted(missing as u64, "more record");
        format!("The next session is foretold from {FEWEST_UNITS} records on one boot on: {more}.")
    }

    /// The note if some records come from other machines or boots than the last.
    fn not_pooled(&self) -> Option<String> {
        let boots = counted(self.boots as u64, "boot");
        match (self.machines, self.boots) {
            (0 | 1, 0 | 1) => None,
            (0 | 1, _) => Some(format!("The records are from {boots} and are not pooled.")),
            (machines, _) => Some(format!(
                "The records are from {} (hardware, kernel or settings differ), and from {boots} of the last one: \
                 they are not pooled.",
                counted(machines as u64, "machine")
            )),
        }
    }
}

/// Returns true for records of hosts without a difference that affects the measurement.
fn is_same_machine(one: &Entry, other: &Entry) -> bool {
    host_differences(&one.host, &other.host).is_empty()
}

/// Returns true for records of one boot; an unknown boot equals no other.
fn is_same_boot(one: &Entry, other: &Entry) -> bool {
    !other.boot_id.is_empty() && one.boot_id == other.boot_id && is_same_machine(one, other)
}

fn foretold(
    entries: &[Entry],
    last: &Entry,
    policy: Option<&str>,
    from: usize,
) -> Option<Foretold> {
    let known = series(entries, last, policy).into_iter();
    let alike = known
        .filter(|(at, value)| *at >= from && *value > 0.0 && is_same_machine(&entries[*at], last));
    let alike: Vec<(&Entry, f64)> = alike
        .map(|(at, value)| (&entries[at], value.ln()))
        .collect();
    let here = alike.iter().filter(|(entry, _)| is_same_boot(entry, last));
    let here: Vec<f64> = here.map(|(_, value)| *value).collect();
    let made = |next, units: Units, records, boots| {
        let (low, high) = units.next(ALPHA);
        Foretold {
            policy: policy.map(str::to_owned),
            next,
            low: low.exp(),
            high: high.exp(),
            records,
            boots,
        }
    };
    if let Some(units) = Units::of(&here) {
        return Some(made(Unit::Session, units, here.len(), 1));
    }
    let mut boots: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (entry, value) in alike.iter().filter(|(it, _)| !it.boot_id.is_empty()) {
        boots.entry(&entry.boot_id).or_default().push(*value);
    }
    let records = boots.values().map(Vec::len).sum();
    let means = boots
        .values()
        .map(|it| it.iter().sum::<f64>() / it.len() as f64);
    let units = Units::of(&means.collect::<Vec<_>>())?;
    Some(made(Unit::Boot, units, records, boots.len()))
}
