//! One simulated experiment, using the plan, decisions and tables of real ones.

use std::collections::BTreeMap;

use anyhow::Result;
use hugewise_base::host::{Cgroup, Host, ThpDisable, User};
use hugewise_base::missing::Missing;
use hugewise_experiment::run::compare;
use hugewise_experiment::run::compare::{PolicyAnswer, Statistic, Table};
use hugewise_experiment::run::plan::{Blocks, Bounds, HostMemory, JudgeBy, Plan};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::{Header, Record};
use hugewise_experiment::run::trial::{Outcome, ReadBack, Reading, Role, Trial};

use super::noise::{Noise, Stream};

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scenario {
    pub noise: Noise,
    pub truth: Truth,
    pub threshold: f64,
    /// The number of policies, including the baseline.
    pub policies: usize,
    pub max_rounds: u32,
}

/// The effect of every policy but the baseline on the time of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Truth {
    /// Each trial takes longer by this share: 0.03 is 3 %.
    Shift(f64),
    /// The usual trial takes `usual` times as long, and a share of the trials `rare` times.
    Shape { usual: f64, share: f64, rare: f64 },
    /// Trials use huge pages. They take `cold` times as long if the last such trial ended more than half a second
    /// before, and `warm` times otherwise.
    CarryOver { warm: f64, cold: f64 },
}

impl Truth {
    /// Returns by how much each trial takes longer, as a share.
    pub fn shift(self) -> f64 {
        match self {
            Self::Shift(effect) => effect,
            Self::Shape { .. } | Self::CarryOver { .. } => 0.0,
        }
    }

    /// Returns true if every claim is an error.
    pub fn is_nothing(self) -> bool {
        self == Self::Shift(0.0)
    }
}

/// The time of a trial without noise and effect, in seconds.
pub(super) const SECONDS: f64 = 0.3;

/// The simulated seconds after which memory is cold.
const COLD_AFTER: f64 = 0.5;

/// The final result of the experiment.
#[derive(Debug)]
pub struct Outcomes {
    pub table: Table,
    pub trials: usize,
    /// The number of trials after which a direction, or its absence, was known.
    pub shown_after: Option<usize>,
}

impl Scenario {
    /// Runs like a real experiment: every round is evaluated, and decided policies are dropped.
    pub fn run(self, seed: u64) -> Result<Outcomes> {
        let mut record = Record::begin(self.header(seed));
        let mut machine = Machine {
            noise: Stream::new(self.noise, seed),
            since_huge: f64::INFINITY,
        };
        let mut shown_after = None;
        for round in 0..self.max_rounds {
            self.add_round(&mut record, round, &mut machine);
            let progress = compare::progress(&record, self.max_rounds - round - 1)?;
            record.removals.extend(progress.drops);
            let trials = record.trials.len();
            shown_after = shown_after.or(progress.is_shown.then_some(trials));
            if progress.stop.is_some() {
                break;
            }
        }
        Ok(Outcomes {
            table: compare::deciding(&record)?,
            trials: record.trials.len(),
            shown_after,
        })
    }

    fn add_round(self, record: &mut Record, round: u32, machine: &mut Machine) {
        let slots = {
            let is_run = |policy: &str| record.is_run(policy, round);
            record.header.plan.round(round, is_run)
        };
        for slot in slots {
            let policy = &record.header.plan.policies[slot.policy];
            let run = machine.run(self.truth, slot.policy > 0);
            let trial = trial(record.trials.len(), round, (policy, slot.role), run);
            record.trials.push(trial);
        }
    }

    pub(super) fn header(self, seed: u64) -> Header {
        let policy = |index: usize| Policy {
            name: format!("policy {index}"),
            ..Policy::as_is()
        };
        Header {
            program: "calibrate".to_owned(),
            made_by: Vec::new(),
            created_unix_ms: 0,
            host: nowhere(),
            verification: None,
            plan: Plan {
                not_tried: None,
                command: vec!["simulated".to_owned()],
                shell: false,
                programs: Vec::new(),
                policies: (0..self.policies).map(policy).collect(),
                baseline: "policy 0".to_owned(),
                seed,
                bounds: Bounds {
                    threshold: self.threshold,
                    precision: None,
                    warmup_rounds: 0,
                    min_rounds: 1,
                    max_rounds: self.max_rounds,
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
                blocks: Blocks::Even,
                live: None,
            },
            realisations: BTreeMap::new(),
            settings_held_by: None,
            stdin_bytes: None,
        }
    }
}

/// The simulated machine, with its state.
struct Machine {
    noise: Stream,
    /// Seconds since the last trial with huge pages ended.
    since_huge: f64,
}

/// One trial: its time, and the huge part of its memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    seconds: f64,
    huge_bytes: f64,
}

impl Machine {
    fn run(&mut self, truth: Truth, is_policy: bool) -> Run {
        let factor = match truth {
            _ if !is_policy => 1.0,
            Truth::Shift(effect) => 1.0 + effect,
            Truth::Shape { usual, share, rare } => match self.noise.uniform() <= share {
                true => rare,
                false => usual,
            },
            Truth::CarryOver { warm, cold } => match self.since_huge > COLD_AFTER {
                true => cold,
                false => warm,
            },
        };
        let seconds = SECONDS * factor * self.noise.draw().exp();
        let is_huge = is_policy && matches!(truth, Truth::CarryOver { .. });
        self.since_huge = match is_huge {
            true => 0.0,
            false => self.since_huge + seconds,
        };
        Run {
            seconds,
            huge_bytes: if is_huge { 2e8 } else { 0.0 },
        }
    }
}

pub(super) fn trial(index: usize, round: u32, (policy, role): (&Policy, Role), run: Run) -> Trial {
    let readings = [
        ("wall_seconds", run.seconds),
        ("huge_anon_peak_bytes", run.huge_bytes),
    ];
    let readings = readings.map(|(name, value)| (name.to_owned(), Reading::of(value)));
    Trial {
        index: index as u32,
        round,
        policy: policy.name.clone(),
        role,
        start: None,
        started_unix_ms: 0,
        outcome: Outcome::Exited { code: 0 },
        stderr_tail: None,
        readings: readings.into_iter().collect(),
        read_back: ReadBack::default(),
        marks: Vec::new(),
        pacing: None,
        timeline: None,
        failure_ignored: false,
        outlived: 0,
        first_touch: None,
    }
}

/// An unknown machine: the statistics must not depend on it.
fn nowhere() -> Host {
    Host {
        kernel: String::new(),
        arch: String::new(),
        boot_line: String::new(),
        boot_id: String::new(),
        cpu_model: String::new(),
        cpus: 1,
        numa_nodes: 1,
        memory_bytes: 0,
        swap_bytes: 0,
        page_bytes: 4096,
        hypervisor: None,
        governor: None,
        thp: Err(Missing::NotAsked),
        hugetlb: BTreeMap::new(),
        thp_disable: ThpDisable::Off,
        except_advised: false,
        can_trace: false,
        library: None,
        can_collapse: false,
        cgroup: Cgroup {
            version: 0,
            path: String::new(),
            limit_bytes: None,
            can_make: false,
        },
        user: User {
            uid: 0,
            workload_uid: 0,
            can_write_thp: false,
        },
        glibc: None,
        glibc_elf_thp: false,
        tunables: Default::default(),
        allocators: BTreeMap::new(),
        load_1min: 0.0,
        free_blocks: Vec::new(),
        balloon: None,
    }
}

impl Outcomes {
    /// Returns the number of policies with one of these answers.
    pub fn count(&self, answers: &[PolicyAnswer]) -> usize {
        let given = self.table.verdict.policies.values();
        given.filter(|answer| answers.contains(answer)).count()
    }

    /// Returns true if the interval of the first policy contains the true ratio; `None` without an interval.
    pub fn covers(&self, ratio: f64) -> Option<bool> {
        let rows = &mut self.table.comparisons.iter();
        let row =
            rows.find(|row| row.metric == "wall_seconds" && row.statistic == Statistic::Center)?;
        let (low, high) = row.low.zip(row.high)?;
        Some(low <= ratio && ratio <= high)
    }

    /// Returns the share of slow runs of the first policy that its answer does not exclude.
    pub fn unseen(&self) -> Option<f64> {
        let runs = self.table.verdict.runs.values().next();
        runs.map(|runs| runs.worse_at_most)
    }

    /// Returns true if the order of the trials was found to matter.
    pub fn order_matters(&self) -> bool {
        let order = self.table.verdict.order.as_ref();
        order.is_some_and(compare::Order::matters)
    }
}
