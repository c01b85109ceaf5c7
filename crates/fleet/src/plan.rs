//! The plan of a fleet experiment: one TOML file, the same on every host.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::guardrail::Guardrails;
pub use super::moment::Moment;
use super::unit::UnitKind;
use hugewise_base::units::parse_duration;
use hugewise_experiment::run::policy::Policy;

/// A plan. Omitted fields have the default documented at each field.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
    /// Name of the experiment, and the salt of its arms.
    pub name: String,
    /// Salt of the enrolment. Experiments with the same salt and disjoint bands never share a unit. Defaults to the
    /// name.
    #[serde(default)]
    pub salt: Option<String>,
    /// The part of all units available to the experiment, as shares from 0 to 1.
    #[serde(default = "whole_band")]
    pub band: [f64; 2],
    /// The unit of randomisation.
    #[serde(default)]
    pub unit: UnitKind,
    /// The arms; the first is the control.
    #[serde(rename = "arm")]
    pub arms: Vec<Arm>,
    /// Stages of the rollout, the smallest first. Without stages, all units are enrolled at once.
    #[serde(default, rename = "stages")]
    pub stages: Vec<Stage>,
    /// Index of the current stage, from 0, if stages have no times.
    #[serde(default)]
    pub stage: Option<usize>,
    /// Treated shares of a cluster's units; each cluster draws one of them.
    #[serde(default)]
    pub saturation: Vec<f64>,
    /// Arms that take turns in each unit.
    #[serde(default)]
    pub switchback: Option<Switchback>,
    /// Length of the period that a row covers.
    #[serde(default = "five_minutes", deserialize_with = "duration")]
    pub period: Duration,
    /// The time at which the arms begin; earlier periods are the pre-period. Defaults to an immediate start.
    #[serde(default)]
    pub starts: Option<Moment>,
    /// The end of the experiment.
    pub until: Moment,
    /// How long an agent keeps its arm while it cannot read the plan.
    #[serde(default = "hour", deserialize_with = "duration")]
    pub lease: Duration,
    /// The limits that stop the arm of a unit.
    #[serde(default)]
    pub guardrails: Guardrails,
    /// Facts of a host that define its stratum.
    #[serde(default)]
    pub strata: Vec<Trait>,
}

/// One arm.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Its name in rows and answers.
    pub name: String,
    /// Its policy, in the syntax of `run -p`.
    #[serde(deserialize_with = "policy")]
    pub policy: Policy,
    /// Its share of the enrolled units, relative to the sum of all weights.
    #[serde(default = "one")]
    pub weight: f64,
}

/// A stage of the rollout.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Enrolled share of the band, above 0 and up to 1.
    pub share: f64,
    /// The time at which it begins.
    #[serde(default)]
    pub starts: Option<Moment>,
}

/// Arms that take turns: each pair of turns has both arms, in random order.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Switchback {
    /// Length of a turn.
    #[serde(deserialize_with = "duration")]
    pub turn: Duration,
    /// Time at the beginning of a turn that is excluded from the comparison.
    #[serde(default, deserialize_with = "duration")]
    pub washout: Duration,
}

/// The turns of a switchback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Start of the first turn.
    pub starts: Moment,
    /// Length of a turn, at least 1 second.
    pub seconds: i64,
    /// Seconds at the start of a turn that are excluded from the comparison.
    pub washout: i64,
}

impl Turns {
    /// The number of the turn that contains a point in time; negative before the first turn.
    #[must_use]
    pub fn number(self, at: Moment) -> i64 {
        self.since_starts(at).div_euclid(self.seconds.max(1))
    }

    /// Seconds since the start of that turn.
    #[must_use]
    pub fn into_turn(self, at: Moment) -> i64 {
        self.since_starts(at).rem_euclid(self.seconds.max(1))
    }

    /// Returns true if a point in time is in the washout of its turn.
    #[must_use]
    pub fn is_washout(self, at: Moment) -> bool {
        self.into_turn(at) < self.washout
    }

    /// The number of whole pairs of turns from the first turn to a point in time.
    #[must_use]
    pub fn pairs(self, until: Moment) -> u64 {
        u64::try_from(self.number(until).div_euclid(2)).unwrap_or(0)
    }

    fn since_starts(self, at: Moment) -> i64 {
        at.0.saturating_sub(self.starts.0)
    }
}

/// A fact of a host that separates units into strata.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Trait {
    /// Release of the kernel.
    Kernel,
    /// Architecture of the processor.
    Architecture,
    /// Size of memory, as the next power of two in bytes.
    Memory,
}

impl Plan {
    /// Salt of the enrolment.
    #[must_use]
    pub fn enrol_salt(&self) -> &str {
        self.salt.as_deref().unwrap_or(&self.name)
    }

    /// Index of the stage at a point in time; `None` before the first begins.
    #[must_use]
    pub fn stage_at(&self, now: Moment) -> Option<usize> {
        if self.stages.iter().any(|stage| stage.starts.is_some()) {
            let begun = |stage: &Stage| stage.starts.is_some_and(|starts| starts <= now);
            return self.stages.iter().rposition(begun);
        }
        Some(self.stage.unwrap_or(0))
    }

    /// Share of the band enrolled by a stage.
    #[must_use]
    pub fn share_of(&self, stage: usize) -> f64 {
        self.stages.get(stage).map_or(1.0, |stage| stage.share)
    }

    /// The turns, if arms take turns.
    #[must_use]
    pub fn turns(&self) -> Option<Turns> {
        let switchback = self.switchback?;
        Some(Turns {
            starts: self.starts?,
            seconds: i64::try_from(switchback.turn.as_secs()).unwrap_or(i64::MAX),
            washout: switchback.washout.as_secs_f64().ceil() as i64,
        })
    }

    /// The turn of a switchback that contains a point in time, from 0. `None` without a switchback, or before the first
    /// turn.
    #[must_use]
    pub fn turn_at(&self, now: Moment) -> Option<u64> {
        u64::try_from(self.turns()?.number(now)).ok()
    }
}

fn whole_band() -> [f64; 2] {
    [0.0, 1.0]
}

fn one() -> f64 {
    1.0
}

fn five_minutes() -> Duration {
    Duration::from_secs(300)
}

fn hour() -> Duration {
    Duration::from_secs(3600)
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map_err(serde::de::Error::custom)
}

fn policy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Policy, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}
