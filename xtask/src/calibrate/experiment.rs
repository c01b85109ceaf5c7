//! One simulated experiment, through the plan, the looks and the tables of the real ones.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use hugewise_model::base::host::{Cgroup, Host, ThpDisable, User};
use hugewise_model::base::missing::Missing;
use hugewise_model::run::compare;
use hugewise_model::run::compare::{Options, Statistic, Table};
use hugewise_model::run::plan::looks::looks;
use hugewise_model::run::plan::{Bounds, Plan};
use hugewise_model::run::policy::Policy;
use hugewise_model::run::record::{Header, Record};
use hugewise_model::run::trial::{Outcome, ReadBack, Reading, Role, Trial};

use super::noise::{Noise, Stream};

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub noise: Noise,
    /// The true effect of every policy but the baseline: 0.03 is 3 % more time.
    pub effect: f64,
    pub threshold: f64,
    /// How many policies there are, with the baseline.
    pub policies: usize,
    pub min_rounds: u32,
    pub max_rounds: u32,
}

/// What the experiment said in the end.
#[derive(Debug)]
pub struct Outcomes {
    pub table: Table,
    pub rounds: u32,
}

impl Scenario {
    /// Runs it. The data are looked at only at looks, since nothing is decided between them.
    pub fn run(self, seed: u64) -> Result<Outcomes> {
        let mut record = Record::begin(self.header(seed));
        let mut noise = Stream::new(self.noise, seed);
        let looks = looks(&record.header.plan.bounds);
        for round in 0..self.max_rounds {
            self.add_round(&mut record, round, &mut noise);
            if looks.contains(&(round + 1)) && compare::progress(&record)?.stop.is_some() {
                break;
            }
        }
        let table = compare::table(&record, &Options::default())?;
        let rounds = record
            .trials
            .last()
            .context("no rounds were asked for")?
            .round
            + 1;
        Ok(Outcomes { table, rounds })
    }

    fn add_round(self, record: &mut Record, round: u32, noise: &mut Stream) {
        for slot in record.header.plan.round(round) {
            let policy = &record.header.plan.policies[slot.policy];
            let effect = if slot.policy == 0 { 0.0 } else { self.effect };
            let seconds = (1.0 + effect) * noise.draw().exp();
            let trial = trial(record.trials.len(), round, policy, slot.role, seconds);
            record.trials.push(trial);
        }
    }

    fn header(self, seed: u64) -> Header {
        let policy = |index: usize| Policy {
            name: format!("policy {index}"),
            ..Policy::as_is()
        };
        Header {
            program: "calibrate".to_owned(),
            made_by: Vec::new(),
            created_unix_ms: 0,
            host: nowhere(),
            plan: Plan {
                command: vec!["simulated".to_owned()],
                shell: false,
                policies: (0..self.policies).map(policy).collect(),
                baseline: "policy 0".to_owned(),
                seed,
                bounds: Bounds {
                    threshold: self.threshold,
                    precision: None,
                    warmup_rounds: 0,
                    min_rounds: self.min_rounds,
                    max_rounds: self.max_rounds,
                    max_time: None,
                },
                verdict_metric: "wall_seconds".to_owned(),
                printed: Vec::new(),
                bench: None,
                latency: None,
                service: None,
                fragment: None,
            },
            realisations: BTreeMap::new(),
        }
    }
}

fn trial(index: usize, round: u32, policy: &Policy, role: Role, seconds: f64) -> Trial {
    Trial {
        index: index as u32,
        round,
        policy: policy.name.clone(),
        role,
        start: None,
        started_unix_ms: 0,
        outcome: Outcome::Exited { code: 0 },
        stderr_tail: None,
        readings: BTreeMap::from([("wall_seconds".to_owned(), Reading::of(seconds))]),
        read_back: ReadBack::default(),
        marks: Vec::new(),
        pacing: None,
        timeline: None,
    }
}

/// A machine of which nothing is known: the statistics may not depend on it.
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
        cgroup: Cgroup {
            version: 0,
            path: String::new(),
            limit_bytes: None,
        },
        user: User {
            uid: 0,
            workload_uid: 0,
            can_write_thp: false,
        },
        glibc: None,
        allocators: BTreeMap::new(),
        load_1min: 0.0,
        free_blocks: Vec::new(),
    }
}

impl Outcomes {
    /// Whether any policy was called better or worse.
    pub fn is_different(&self) -> bool {
        use compare::Answer::{Better, Worse};
        let answers = &mut self.table.verdict.policies.values();
        answers.any(|answer| matches!(answer, Better | Worse))
    }

    /// Whether any policy was called equivalent.
    pub fn is_same(&self) -> bool {
        let answers = &mut self.table.verdict.policies.values();
        answers.any(|answer| *answer == compare::Answer::NoDifference)
    }

    /// Whether the interval of the first policy holds the true ratio; `None` when there is no
    /// interval for this statistic.
    pub fn covers(&self, statistic: Statistic, ratio: f64) -> Option<bool> {
        let rows = &mut self.table.comparisons.iter();
        let row = rows.find(|row| row.statistic == statistic)?;
        row.low
            .zip(row.high)
            .map(|(low, high)| low <= ratio && ratio <= high)
    }

    /// Whether any row of these statistics was called higher or lower, whatever the control.
    pub fn changed(&self, statistics: &[Statistic]) -> bool {
        use compare::Change::{Higher, Lower};
        let rows = &mut self.table.comparisons.iter();
        rows.any(|row| statistics.contains(&row.statistic) && matches!(row.change, Higher | Lower))
    }

    /// Whether the baseline differed from itself.
    pub fn control_failed(&self) -> bool {
        self.table
            .control
            .as_ref()
            .is_some_and(|control| !control.passed)
    }
}
