//! The ratio of one count to another, the base of every figure.

use std::collections::{BTreeMap, BTreeSet};

use super::Value;
use crate::stat::kind::{CYCLES, INSTRUCTIONS};
use crate::stat::{Count, Tally};
use hugewise_base::missing::Missing;

/// The counts, and the reason if there are no hardware counts.
pub(super) struct Counts<'a> {
    pub(super) counts: &'a [Count],
    pub(super) hardware: Option<&'a Missing>,
}

impl<'a> Counts<'a> {
    /// Events of one kind per event of another, over all groups that counted both.
    ///
    /// Uses groups, not totals. A group is on the hardware as a whole or not at all, so both sides cover the same time,
    /// however rarely it is scheduled.
    pub(super) fn per(&self, kind: &str, base: &str) -> Value {
        if let Some(missing) = self.hardware {
            return Err(missing.clone());
        }
        let Fraction {
            top,
            bottom,
            sources,
            why,
        } = self.fraction(kind, base);
        if top.groups == 0 {
            return Err(why.unwrap_or_else(|| none_of(kind)));
        }
        if top.running_ns == 0 && top.enabled_ns > 0 {
            return Err(Missing::NeverScheduled);
        }
        self.elsewhere(kind, base, &sources)?;
        if bottom.value == 0 {
            return Err(Missing::TooShort);
        }
        Ok(top.value as f64 / bottom.value as f64)
    }

    /// The counts of a kind, and those of another kind in the same groups.
    fn fraction(&self, kind: &str, base: &str) -> Fraction<'a> {
        let mut sum = Fraction::default();
        for count in self.counts.iter().filter(|count| count.kind == kind) {
            let mate = self.counts.iter().find(|other| {
                other.kind == base && other.pmu == count.pmu && other.group == count.group
            });
            match (&count.tally, mate.map(|mate| &mate.tally)) {
                (_, None) => sum.lacks(none_of(base)),
                (Tally::Missing { missing }, _) | (_, Some(Tally::Missing { missing })) => {
                    sum.lacks(missing.clone());
                }
                (one, Some(other)) => {
                    sum.top.add(one);
                    sum.bottom.add(other);
                    sum.sources.insert(&count.pmu);
                }
            }
        }
        sum
    }

    /// Fails if much of the other kind was counted on cores that do not have the event, because the remaining cores are
    /// then no bound for the whole.
    fn elsewhere(&self, kind: &str, base: &str, sources: &BTreeSet<&str>) -> Result<(), Missing> {
        const NEGLIGIBLE: f64 = 0.01;
        let mut by_source: BTreeMap<&str, f64> = BTreeMap::new();
        for count in self.counts.iter().filter(|count| count.kind == base) {
            if let Tally::Counted { value, .. } = count.tally {
                *by_source.entry(&count.pmu).or_default() += value as f64;
            }
        }
        let all: f64 = by_source.values().sum();
        let other = by_source
            .into_iter()
            .find(|(source, part)| !sources.contains(source) && *part > NEGLIGIBLE * all);
        match other {
            None => Ok(()),
            Some((source, part)) => Err(Missing::not_supported(format!(
                "an event for {kind} on {source}, where {:.0} % of the {base} were counted",
                100.0 * part / all
            ))),
        }
    }

    pub(super) fn kinst(&self, kind: &str) -> Value {
        Ok(self.per(kind, INSTRUCTIONS)? * 1000.0)
    }

    /// A share of cycles. More than 100 % means that the counters contradict each other; no number is better than a
    /// wrong one.
    pub(super) fn share(&self, kind: &str) -> Value {
        let share = self.per(kind, CYCLES)?;
        // The counters of a group are read one after the other while they run.
        const READING_TAKES_TIME: f64 = 1.001;
        if share > READING_TAKES_TIME {
            return Err(Missing::unreadable(format!(
                "{kind} says {share:.2} for each cycle"
            )));
        }
        Ok(share.min(1.0))
    }

    /// Returns true if an event of this kind is counted.
    pub(super) fn has(&self, kind: &str) -> bool {
        self.counts.iter().any(|count| count.kind == kind)
    }
}

/// The counts of two kinds in the same groups.
#[derive(Default)]
struct Fraction<'a> {
    top: Sum,
    bottom: Sum,
    /// The event sources that counted them.
    sources: BTreeSet<&'a str>,
    /// The first reason why a group is excluded.
    why: Option<Missing>,
}

impl Fraction<'_> {
    fn lacks(&mut self, why: Missing) {
        self.why.get_or_insert(why);
    }
}

#[derive(Default)]
struct Sum {
    groups: u32,
    value: u64,
    enabled_ns: u64,
    running_ns: u64,
}

impl Sum {
    fn add(&mut self, tally: &Tally) {
        if let &Tally::Counted {
            value,
            enabled_ns,
            running_ns,
        } = tally
        {
            self.groups += 1;
            self.value = self.value.saturating_add(value);
            self.enabled_ns = self.enabled_ns.saturating_add(enabled_ns);
            self.running_ns = self.running_ns.saturating_add(running_ns);
        }
    }
}

fn none_of(kind: &str) -> Missing {
    Missing::not_supported(format!("an event for {kind}"))
}
