//! Where and how an experiment was measured.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::tunables::Tunables;
use crate::run::plan::HostMemory;
use crate::run::record::StopReason;

/// Where and how one record was measured.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Circumstances {
    /// The machine.
    pub machine: Machine,
    /// Number of compared rounds.
    pub rounds: u32,
    /// Number of trials in the rounds.
    pub trials: u32,
    /// Seconds from the first trial to the last.
    pub seconds: Option<f64>,
    /// Seed of the randomised order.
    pub seed: u64,
    /// The state of free memory in the host before each trial.
    pub host_memory: HostMemory,
    /// Number of trials before which only a part of the memory was warmed.
    pub warmed_in_part: u32,
    /// Percent of free memory kept in small blocks, if requested.
    pub fragment: Option<u32>,
    /// The smallest and largest fragmented share found.
    pub fragmented: Option<[f64; 2]>,
    /// Disturbed trials.
    pub disturbance: Disturbance,
    /// Why the experiment ended.
    pub stopped: Option<StopReason>,
    /// Rounds added later: the first such round, and minutes after the start.
    pub continued: Vec<(u32, u64)>,
    /// The process that held changed settings during the experiment.
    pub settings_held_by: Option<String>,
    /// The program that did the work, if the command is a wrapper.
    pub ran: Option<String>,
    /// Name and version of the program that measured.
    pub measured_by: String,
    /// The file of the record, or the word that names it.
    pub record: Option<String>,
    /// The results of earlier records of the same experiment, one line each.
    pub earlier: Vec<String>,
}

/// The machine.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Machine {
    /// Kernel release.
    pub kernel: String,
    /// Architecture.
    pub arch: String,
    /// Hypervisor, on a virtual machine.
    pub hypervisor: Option<String>,
    /// CPUs.
    pub cpus: u32,
    /// Mode of transparent huge pages; `None` if it could not be read.
    pub thp: Option<String>,
    /// Value of `defrag`.
    pub defrag: Option<String>,
    /// Bytes of a small page.
    pub page_bytes: u64,
    /// Bytes of a PMD-sized huge page.
    pub huge_page_bytes: Option<u64>,
    /// Tunables of glibc that programs got without a policy.
    #[serde(skip_serializing_if = "Tunables::is_empty")]
    pub tunables: Tunables,
}

/// Disturbed trials. They count, and widen the intervals.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct Disturbance {
    /// Number of disturbed trials.
    pub trials: u32,
    /// Number of trials by disturbance.
    pub kinds: BTreeMap<String, u32>,
}
