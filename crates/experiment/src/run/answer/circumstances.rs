//! Where and how an experiment was measured.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::run::plan::HostMemory;
use crate::run::record::StopReason;

/// Where and how one record was measured.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Circumstances {
    /// The machine.
    pub machine: Machine,
    /// Compared rounds.
    pub rounds: u32,
    /// All trials of the rounds.
    pub trials: u32,
    /// Seconds from the first trial to the last.
    pub seconds: Option<f64>,
    /// Seed of the order.
    pub seed: u64,
    /// The state of free memory in the host before each trial.
    pub host_memory: HostMemory,
    /// Trials before which only a part of the memory was warmed.
    pub warmed_in_part: u32,
    /// Percent of free memory kept in small blocks, when asked for.
    pub fragment: Option<u32>,
    /// The smallest and largest share that was found fragmented.
    pub fragmented: Option<[f64; 2]>,
    /// Trials that were disturbed.
    pub disturbance: Disturbance,
    /// Why the experiment ended.
    pub stopped: Option<StopReason>,
    /// Rounds that were added later: the first such round, and minutes after the start.
    pub continued: Vec<(u32, u64)>,
    /// The process that held changed settings meanwhile.
    pub settings_held_by: Option<String>,
    /// The program that did the work, when the command is a wrapper.
    pub ran: Option<String>,
    /// Name and version of the program that measured.
    pub measured_by: String,
    /// The file of the record, or the word that names it.
    pub record: Option<String>,
    /// What earlier records of the same experiment say, one line each.
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
    /// Mode of transparent huge pages; `None` when it could not be read.
    pub thp: Option<String>,
    /// Value of `defrag`.
    pub defrag: Option<String>,
    /// Bytes of a small page.
    pub page_bytes: u64,
    /// Bytes of a PMD-sized huge page.
    pub huge_page_bytes: Option<u64>,
}

/// Trials that something disturbed. They count, and widen the intervals.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct Disturbance {
    /// Disturbed trials.
    pub trials: u32,
    /// Trials by what disturbed them.
    pub kinds: BTreeMap<String, u32>,
}
