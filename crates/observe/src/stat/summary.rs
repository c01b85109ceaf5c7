//! The sum of all intervals.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::coverage::check_coverage;
use super::derive::derive;
use super::{Count, Hardware, Interval, add_counts};
use hugewise_base::missing::Missing;
use hugewise_experiment::run::trial::{Outcome, Reading};

/// The sums of an observation.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct StatSummary {
    /// The number of intervals.
    pub intervals: u64,
    /// The duration, in nanoseconds.
    pub length_ns: u64,
    /// How the command ended, if one was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// CPU time of the command and its descendants, in nanoseconds; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cpu_ns: u64,
    /// Processes that the command left running. They were terminated.
    #[serde(default, skip_serializing_if = "is_none")]
    pub outlived: u32,
    /// Hardware events, summed.
    pub counts: Vec<Count>,
    /// Increases of kernel counters, summed; for all other values the last state.
    pub readings: BTreeMap<String, Reading>,
    /// Sums that lack the end, because the target ended between two readings.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub at_least: BTreeSet<String>,
    /// Ratios of the sums.
    #[serde(default, skip_deserializing)]
    pub derived: BTreeMap<String, Reading>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde asks for"
)]
fn is_none(number: &u32) -> bool {
    *number == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde asks for"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl StatSummary {
    /// Adds an interval.
    pub fn add(&mut self, interval: &Interval) {
        self.intervals += 1;
        self.length_ns = self.length_ns.max(interval.end_ns);
        add_counts(&mut self.counts, &interval.counts);
        for (name, reading) in &interval.readings {
            let sum = match self.readings.get(name) {
                Some(before @ Reading::Value { .. }) if grows(name) && is_gone(reading) => {
                    self.at_least.insert(name.clone());
                    before.clone()
                }
                Some(before) => joined(name, before, reading),
                None => reading.clone(),
            };
            self.readings.insert(name.clone(), sum);
        }
    }

    /// Records the CPU time of the command and the number of processes that it left running.
    #[must_use]
    pub fn of_command(mut self, cpu_ns: u64, outlived: u32) -> Self {
        check_coverage(&mut self.counts, cpu_ns);
        (self.cpu_ns, self.outlived) = (cpu_ns, outlived);
        self
    }

    /// Computes the ratios, after the last interval.
    #[must_use]
    pub fn finished(mut self, hardware: &Hardware, outcome: Option<Outcome>) -> Self {
        self.derived = derive(&self.counts, hardware.missing());
        self.outcome = outcome;
        self
    }

    /// Its length, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.length_ns as f64 / 1e9
    }

    /// Returns a reading as one number.
    ///
    /// # Errors
    /// Returns the reason if there is none.
    pub fn reading(&self, name: &str) -> Result<f64, Missing> {
        value(self.readings.get(name).or_else(|| self.derived.get(name)))
    }
}

/// Returns a reading as one number.
pub(super) fn value(reading: Option<&Reading>) -> Result<f64, Missing> {
    match reading {
        Some(Reading::Value { value }) => Ok(*value),
        Some(Reading::Missing { missing }) => Err(missing.clone()),
        Some(Reading::Values { .. } | Reading::Histogram { .. }) | None => Err(Missing::NotAsked),
    }
}

/// Returns true if a reading is cumulative, so its intervals can be summed. All others are states.
pub(super) fn grows(name: &str) -> bool {
    (name.ends_with("_total") && name != "free_huge_pages_total") || name.ends_with("_seconds")
}

fn is_gone(reading: &Reading) -> bool {
    *reading == Reading::missing(Missing::TooShort)
}

fn joined(name: &str, before: &Reading, now: &Reading) -> Reading {
    match (value(Some(before)), value(Some(now))) {
        (Ok(before), Ok(now)) if grows(name) => Reading::of(before + now),
        // A sum with a missing part would be too small.
        (Err(missing), Ok(_)) | (Ok(_), Err(missing)) if grows(name) => Reading::missing(missing),
        // Keeps the last readable state, because an ended process has none.
        (Ok(before), Err(_)) => Reading::of(before),
        _ => now.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::Tally;

    fn interval(index: u64, readings: &[(&str, Reading)]) -> Interval {
        let named = readings.iter();
        Interval {
            index,
            start_ns: index * 1_000_000_000,
            end_ns: (index + 1) * 1_000_000_000,
            readings: named.map(|(n, r)| ((*n).to_owned(), r.clone())).collect(),
            ..Interval::default()
        }
    }

    #[test]
    fn growth_adds_up_and_states_are_the_last() {
        let mut summary = StatSummary::default();
        for (index, (faults, share)) in [(10.0, 0.5), (5.0, 0.75)].into_iter().enumerate() {
            summary.add(&interval(
                index as u64,
                &[
                    ("minor_faults_total", Reading::of(faults)),
                    ("huge_ratio", Reading::of(share)),
                ],
            ));
        }
        summary.add(&interval(
            2,
            &[
                ("minor_faults_total", Reading::of(1.0)),
                ("huge_ratio", Reading::missing(Missing::TooShort)),
            ],
        ));
        assert_eq!(summary.reading("minor_faults_total"), Ok(16.0));
        assert_eq!(summary.reading("huge_ratio"), Ok(0.75));
        assert_eq!((summary.intervals, summary.length_ns), (3, 3_000_000_000));
    }

    #[test]
    fn a_sum_with_a_hole_is_missing() {
        let mut summary = StatSummary::default();
        summary.add(&interval(0, &[("minor_faults_total", Reading::of(1.0))]));
        let hole = Reading::missing(Missing::NotAsked);
        summary.add(&interval(1, &[("minor_faults_total", hole)]));
        assert_eq!(
            summary.reading("minor_faults_total"),
            Err(Missing::NotAsked)
        );
    }

    #[test]
    fn what_ended_between_two_looks_leaves_a_lower_bound() {
        let mut summary = StatSummary::default();
        summary.add(&interval(0, &[("minor_faults_total", Reading::of(7.0))]));
        let gone = Reading::missing(Missing::TooShort);
        summary.add(&interval(1, &[("minor_faults_total", gone)]));
        assert_eq!(summary.reading("minor_faults_total"), Ok(7.0));
        assert!(summary.at_least.contains("minor_faults_total"));
    }

    #[test]
    fn counts_of_one_group_add_up_and_others_stay_apart() {
        let count = |group, value| Count {
            kind: "cycles".to_owned(),
            event: "cycles".to_owned(),
            pmu: "cpu".to_owned(),
            group,
            tally: Tally::Counted {
                value,
                enabled_ns: 2,
                running_ns: 1,
            },
        };
        let mut sum = vec![count(0, 5)];
        add_counts(&mut sum, &[count(0, 7), count(1, 9)]);
        assert_eq!(sum.len(), 2);
        let twice = Tally::Counted {
            value: 12,
            enabled_ns: 4,
            running_ns: 2,
        };
        assert_eq!(sum[0].tally, twice);
    }
}
