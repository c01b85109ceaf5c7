//! The plan of an experiment: policies, rounds, their order, and its bounds.

use std::convert::Infallible;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::run::cells::Bench;
use crate::run::policy::{Omission, Policy};
use crate::run::trial::Role;
use service::Service;

/// The position of the `args=` words in a command.
pub mod arguments;
mod blocks;
mod host_memory;
mod latency_source;
mod live;
mod overhead_control;
mod printed;
mod printed_number;
mod printed_unit;
mod program;
mod rows;
/// A server as the workload, under a load.
pub mod service;
mod stamp;
mod time_unit;

pub use blocks::Blocks;
pub use host_memory::HostMemory;
pub use latency_source::{LatencyPlace, LatencySource, Reader};
pub use live::{HUGE, Live, SMALL, Skip, Skipped, Work, live_policies};
pub use overhead_control::{asks_of_pages, claims};
pub use printed::PrintedMetric;
pub use program::{Program, arms};
pub use rows::{Failed, FailedBy, Only, Rows};
pub use stamp::{Edge, Stamp};
pub use time_unit::TimeUnit;

/// The whole experiment, decided before anything runs, and stored in the record.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The workload: program and arguments, or one shell line if `shell` is set.
    pub command: Vec<String>,
    /// True if `command` is one line for `/bin/sh -c`.
    #[serde(default)]
    pub shell: bool,
    /// The programs to compare, each under every policy. The others are compared with the first, and `command` is its
    /// command. Empty for a single command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Program>,
    /// The policies, in the order of reports; for programs, their arms.
    pub policies: Vec<Policy>,
    /// Policies that were not tried because of a missing permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_tried: Option<Omission>,
    /// Name of the policy that the others are compared with.
    pub baseline: String,
    /// Seed of the order and of the bootstrap.
    pub seed: u64,
    /// When to stop.
    pub bounds: Bounds,
    /// Metric whose comparison decides the verdict.
    pub verdict_metric: String,
    /// The property of its runs by which a policy is judged.
    #[serde(default, skip_serializing_if = "JudgeBy::is_shape")]
    pub judge_by: JudgeBy,
    /// Metrics parsed from the workload's output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<PrintedMetric>,
    /// The bench with the cells of the workload, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bench: Option<Bench>,
    /// The source of request latencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencySource>,
    /// How to drive the command if it is a server that does not end on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
    /// The state of free memory: at least so many percent of it in blocks smaller than a huge page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragment: Option<u32>,
    /// The state of free memory in the host before each trial.
    #[serde(default, skip_serializing_if = "HostMemory::is_as_is")]
    pub host_memory: HostMemory,
    /// The distribution of a round's runs over the policies.
    #[serde(default, skip_serializing_if = "Blocks::is_shared")]
    pub blocks: Blocks,
    /// The running process with switched memory, if trials are periods of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
}

/// The property of its runs by which a policy is judged.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum JudgeBy {
    /// The typical run, and no run may become worse.
    #[default]
    Shape,
    /// Only the typical run: rare worse runs are accepted.
    Typical,
    /// The mean over runs: the total cost of many runs.
    Mean,
    /// The 95th percentile over runs. It is compared when all rounds are over.
    P95,
}

/// The argument of `--judge-by`: a property of the runs, or the metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// A property, of the default metric.
    Property(JudgeBy),
    /// A metric.
    Metric(String),
}

impl Criterion {
    /// The property, if one was given.
    #[must_use]
    pub fn property(&self) -> Option<JudgeBy> {
        match self {
            Self::Property(property) => Some(*property),
            Self::Metric(_) => None,
        }
    }

    /// The metric, if one was given.
    #[must_use]
    pub fn metric(&self) -> Option<&str> {
        match self {
            Self::Property(_) => None,
            Self::Metric(name) => Some(name),
        }
    }
}

impl FromStr for Criterion {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "typical" => Self::Property(JudgeBy::Typical),
            "mean" => Self::Property(JudgeBy::Mean),
            "p95" => Self::Property(JudgeBy::P95),
            _ => Self::Metric(text.to_owned()),
        })
    }
}

impl JudgeBy {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    pub(crate) fn is_shape(&self) -> bool {
        *self == Self::Shape
    }
}

/// The default time limit: no new round begins after it.
pub const USUAL_TIME: Duration = Duration::from_secs(90);

/// When an experiment ends.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// The smallest effect of practical interest, as a share: 0.01 is 1 %.
    pub threshold: f64,
    /// Stop when the interval of the verdict metric is no wider than ± this share.
    pub precision: Option<f64>,
    /// Unmeasured rounds at the beginning.
    pub warmup_rounds: u32,
    /// No decision before this many rounds.
    pub min_rounds: u32,
    /// Never more rounds than this.
    pub max_rounds: u32,
    /// No new round begins after this time.
    #[serde(with = "seconds")]
    pub max_time: Option<Duration>,
    /// At least this many rounds are run, even if that takes longer: fewer could not decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_rounds: Option<u32>,
}

/// One position in the order of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Index into [`Plan::policies`].
    pub policy: usize,
    /// Arm or control.
    pub role: Role,
}

impl Plan {
    /// Returns true if the processes of a start run under one policy each. The periods of a switchback compare a process with
    /// itself.
    #[must_use]
    pub fn compares_starts(&self) -> bool {
        self.live.is_none()
    }

    /// Index of the baseline in `policies`; 0 when the name is not there, which
    /// [`Plan`]s made by this crate never have.
    #[must_use]
    pub fn baseline_index(&self) -> usize {
        self.policies
            .iter()
            .position(|policy| policy.name == self.baseline)
            .unwrap_or(0)
    }

    /// The order of one round: the runs of every policy with `is_run` and, if policies are compared, of the control
    /// ([`Plan::controls`]), shuffled from the seed and the number of the round.
    ///
    /// The shuffle makes the comparison valid: however the machine drifts, each order within a round was equally
    /// likely.
    #[must_use]
    pub fn round(&self, round: u32, is_run: impl Fn(&str) -> bool) -> Vec<Slot> {
        let mut slots = self.slots(round, is_run);
        let mut random = fastrand::Rng::with_seed(
            self.seed ^ (u64::from(round) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        );
        random.shuffle(&mut slots);
        slots
    }

    /// The slots of one round in the order of the policies.
    #[must_use]
    pub fn slots(&self, round: u32, is_run: impl Fn(&str) -> bool) -> Vec<Slot> {
        let run: Vec<usize> = (0..self.policies.len())
            .filter(|&policy| is_run(&self.policies[policy].name))
            .collect();
        let runs = self.runs_of_each(round, &run);
        let arms = run.iter().flat_map(|&policy| {
            let times = match self.is_baseline(&self.policies[policy].name) {
                true => 1,
                false => runs.policy,
            };
            std::iter::repeat_n((policy, Role::Arm), times)
        });
        let controls = self.controls().into_iter();
        let controls =
            controls.flat_map(|policy| std::iter::repeat_n((policy, Role::Control), runs.control));
        arms.chain(controls)
            .map(|(policy, role)| Slot { policy, role })
            .collect()
    }
}

mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| time.as_secs_f64()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let seconds: Option<f64> = Option::deserialize(deserializer)?;
        seconds
            .map(|seconds| Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(policies: usize, seed: u64) -> Plan {
        Plan {
            command: vec!["true".to_owned()],
            shell: false,
            programs: Vec::new(),
            policies: (0..policies)
                .map(|index| Policy {
                    name: format!("p{index}"),
                    ..Policy::as_is()
                })
                .collect(),
            not_tried: None,
            baseline: "p0".to_owned(),
            seed,
            bounds: Bounds {
                threshold: 0.01,
                precision: None,
                warmup_rounds: 1,
                min_rounds: 8,
                max_rounds: 32,
                max_time: None,
                least_rounds: None,
            },
            verdict_metric: "wall_seconds".to_owned(),
            judge_by: JudgeBy::Shape,
            printed: Vec::new(),
            bench: None,
            latency: None,
            service: None,
            fragment: None,
            host_memory: HostMemory::AsIs,
            blocks: Blocks::Shared,
            live: None,
        }
    }

    #[test]
    fn one_policy_runs_as_often_as_its_baseline() {
        let plan = Plan {
            blocks: Blocks::Even,
            ..plan(3, 7)
        };
        let counts = |round: u32, left: &[&str]| {
            let slots = plan.round(round, |name| left.contains(&name));
            let of = |policy, role| {
                slots
                    .iter()
                    .filter(|it| **it == Slot { policy, role })
                    .count()
            };
            [
                of(0, Role::Arm),
                of(0, Role::Control),
                of(1, Role::Arm),
                of(2, Role::Arm),
            ]
        };
        assert_eq!(counts(0, &["p0", "p1", "p2"]), [1, 1, 1, 1]);
        assert_eq!(counts(0, &["p0", "p2"]), [1, 2, 0, 3]);
        assert_eq!(counts(5, &["p0", "p2"]), [1, 1, 0, 2]);
        assert_eq!(counts(5, &["p0"]), [1, 1, 0, 0]);
    }

    proptest! {
        #[test]
        fn a_round_holds_every_policy_once_and_the_control(
            policies in 1_usize..8, seed: u64, round in 0_u32..1000,
        ) {
            let plan = plan(policies, seed);
            let slots = plan.round(round, |_| true);
            let arms = slots.iter().filter(|slot| slot.role == Role::Arm);
            let mut seen: Vec<usize> = arms.map(|slot| slot.policy).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..policies).collect::<Vec<_>>());
            let controls: Vec<usize> = slots
                .iter()
                .filter(|slot| slot.role == Role::Control)
                .map(|slot| slot.policy)
                .collect();
            prop_assert_eq!(controls, if policies > 1 { vec![0] } else { vec![] });
            prop_assert_eq!(plan.round(round, |_| true), slots, "the order comes from the seed alone");
        }
    }

    #[test]
    fn every_policy_comes_first_about_equally_often() {
        let mut first = [0_u32; 3];
        for round in 0..3000 {
            let slot = plan(3, 7).round(round, |_| true)[0];
            if slot.role == Role::Arm {
                first[slot.policy] += 1;
            }
        }
        for count in first {
            assert!((650..850).contains(&count), "{first:?}");
        }
    }
}
