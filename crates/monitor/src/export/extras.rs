//! Optional data in addition to the machine's totals.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use hugewise_base::glob::fits;
use hugewise_base::histogram::durations::Durations;
use hugewise_observe::inspect::reasons::Code;
use hugewise_observe::machine::Collected;

/// The most groups of processes.
pub const MOST_GROUPS: usize = 10;
/// The limit of cgroups with separate series; the rest are one, `other`.
pub const MOST_CGROUPS: usize = 50;
/// The most experiments: the newest.
pub const MOST_EXPERIMENTS: usize = 10;

/// All optional data; `None` if not requested.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extras {
    /// The cgroups of the user's list.
    pub cgroups: Option<Collected<Vec<Cgroup>>>,
    /// Processes by the user's rules.
    pub groups: Option<Collected<ProcessGroups>>,
    /// Durations in the kernel.
    pub durations: Option<Collected<Vec<PointDurations>>>,
    /// The results of experiments on this machine.
    pub experiments: Option<Collected<Vec<Experiment>>>,
    /// The arm of this host in an experiment over many.
    pub fleet: Option<Collected<FleetArm>>,
}

/// The arm of a host, as labels to join with other series.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct FleetArm {
    /// Name of the experiment.
    pub experiment: String,
    /// The unit, as the plan counts: the host, unless it was given another name.
    pub unit: String,
    /// Name of the arm, or `outside`.
    pub arm: String,
    /// Stratum of the host.
    pub stratum: String,
    /// Index of the stage; empty before the first.
    pub stage: Option<usize>,
}

/// A cgroup with its descendants.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Cgroup {
    /// Its path, beginning with `/`; that of the root is `/`.
    pub path: String,
    /// Anonymous memory, in bytes (`anon` of `memory.stat`).
    pub anon_bytes: u64,
    /// The part that PMDs map, in bytes (`anon_thp`, Linux 5.11).
    pub anon_huge_bytes: Option<u64>,
    /// Huge pages from faults so far (`thp_fault_alloc`).
    pub huge_faults: Option<u64>,
    /// Huge pages that khugepaged made so far (`thp_collapse_alloc`).
    pub collapses: Option<u64>,
}

/// Processes that belong together: `web=nginx*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRule {
    /// The name of the group.
    pub name: String,
    /// The names of its processes (`comm`, at most 15 characters), with `*` and `?`.
    pub pattern: String,
}

impl GroupRule {
    /// Returns true if a process of this name belongs to the group.
    #[must_use]
    pub fn fits(&self, process: &str) -> bool {
        fits(&self.pattern, process)
    }
}

impl FromStr for GroupRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = text.split_once('=').map(|(name, pattern)| Self {
            name: name.to_owned(),
            pattern: pattern.to_owned(),
        });
        rule.filter(|rule| !rule.name.is_empty() && !rule.pattern.is_empty())
            .ok_or_else(|| format!("`{text}` is no group; write web=nginx*"))
    }
}

/// The groups, and the cost of reading page tables for them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct ProcessGroups {
    /// In the order of the rules.
    pub groups: Vec<ProcessGroup>,
    /// Processor time of all inspections so far, in nanoseconds.
    pub cpu_ns: u64,
}

/// A group of processes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct ProcessGroup {
    /// The user's name for the group.
    pub name: String,
    /// Its processes, by the state of their page tables.
    pub processes: BTreeMap<Knowledge, u64>,
    /// Resident memory of the group, in bytes.
    pub resident_bytes: u64,
    /// Huge memory of those whose page tables were read, in bytes.
    pub huge_bytes: u64,
    /// Their memory that is eligible for huge pages but small, in bytes.
    pub could_be_huge_bytes: u64,
    /// Their small memory by reason, in bytes.
    pub small_bytes: BTreeMap<Code, u64>,
}

/// Whether the page tables of a process were read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Knowledge {
    /// They were read.
    Read,
    /// Their turn has not come.
    Waiting,
    /// The kernel refuses.
    Refused,
    /// The process is so large that reading them could delay it.
    Large,
}

impl Knowledge {
    /// All, with the words of the label.
    pub const ALL: [(Self, &str); 4] = [
        (Self::Read, "read"),
        (Self::Waiting, "waiting"),
        (Self::Refused, "refused"),
        (Self::Large, "large"),
    ];
}

/// The durations of a kernel operation since the exporter began.
#[derive(Clone, Debug, PartialEq)]
pub struct PointDurations {
    /// The name of the point, as `trace` has it.
    pub point: String,
    /// All durations.
    pub durations: Durations,
}

/// A recorded experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The name of its record, without its ending.
    pub name: String,
    /// The program, without its folder and its arguments.
    pub program: String,
    /// The kernel.
    pub kernel: String,
    /// When it began, in milliseconds since 1970 (UTC).
    pub created_unix_ms: u64,
    /// The policy that the others are compared with.
    pub baseline: String,
    /// The metric that decides.
    pub metric: String,
    /// The best policy, if there is one.
    pub best: Option<String>,
    /// Every other policy.
    pub effects: Vec<Effect>,
}

/// The effect of a policy on the metric that decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The policy.
    pub policy: String,
    /// Its value divided by that of the baseline.
    pub ratio: f64,
    /// The ends of the 95 % interval of the ratio, if enough rounds were run.
    pub interval: Option<(f64, f64)>,
}
