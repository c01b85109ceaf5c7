use super::Facility;
use serde::{Deserialize, Serialize};

use hugewise_base::verification::Verification;
use hugewise_experiment::run::trial::Outcome;
use hugewise_observe::faults;
use hugewise_observe::faults::{Known, Modes};

/// One line of a recording: a miss, the beginning or end, or a change of an address space, which is a
/// [`faults::Event`].
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(untagged)]
pub enum Event {
    /// A miss, or the beginning or end.
    Misses(MissEvent),
    /// Mappings, processes and symbols.
    Space(faults::Event),
}

/// Events specific to recordings of misses.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum MissEvent {
    /// The first: the conditions of sampling.
    Sampling(Box<Conditions>),
    /// An access that missed every TLB.
    Miss(Miss),
    /// The last.
    Sampled(Box<Closing>),
}

impl Event {
    /// The time, if the event has one.
    #[must_use]
    pub fn time_ns(&self) -> Option<u64> {
        match self {
            Self::Misses(MissEvent::Miss(miss)) => Some(miss.time_ns),
            Self::Misses(_) => None,
            Self::Space(event) => event.time_ns(),
        }
    }
}

/// The method and machine of a sampling.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Version of the program that recorded.
    pub hugewise: String,
    /// The target, as the user named it.
    pub subject: String,
    /// The start time, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Kernel release.
    pub kernel: String,
    /// Model of the processor.
    pub cpu_model: String,
    /// Size of a base page, in bytes.
    pub page_bytes: u64,
    /// Size of a PMD-mapped page, in bytes, if the kernel has them.
    pub pmd_bytes: Option<u64>,
    /// How the hardware samples.
    pub means: Facility,
    /// Names of the sampled events.
    pub sampled: String,
    /// Events per sample.
    pub every: u64,
    /// In which modes.
    pub modes: Modes,
    /// `Yes` if samples include the page size at their address.
    pub page_size: Known,
    /// Whether the sampled events are verified on this processor. A recording without it is of unverified events.
    #[serde(default)]
    pub verification: Verification,
}

impl Conditions {
    /// The warning about sampled events that are not verified: a sentence without its full stop. The loops count events,
    /// as PEBS does; nothing verifies samples of operations.
    #[must_use]
    pub fn unverified(&self) -> Option<String> {
        match self.means {
            Facility::Pebs => {
                let kinds = ["retired_load_misses", "retired_store_misses"];
                self.verification.warning(kinds)
            }
            Facility::Ibs | Facility::Spe => Some(format!(
                "{} samples: not verified on this CPU; no loop tests them",
                self.means.title()
            )),
        }
    }
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// It read.
    Load,
    /// A write, or a read and a write.
    Store,
}

/// An access that missed every TLB.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Miss {
    /// Nanoseconds of the monotonic clock. With SPE, the time at which its buffer was read, slightly after the access.
    pub time_ns: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// The accessed address.
    pub address: u64,
    /// The address of the instruction.
    pub code: u64,
    /// What it did.
    pub access: AccessKind,
    /// Size of the page at the address, in bytes, at the time of the sample (PEBS, IBS) or of reading (SPE).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// Translation latency, in cycles, if reported by the hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill_cycles: Option<u64>,
}

/// How it ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// Duration of the sampling, in nanoseconds.
    pub wall_ns: u64,
    /// The outcome of the command; `None` if the target already existed, or when interrupted.
    pub outcome: Option<Outcome>,
    /// Processes still running when the command ended; hugewise ended them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub outlived: u32,
    /// All samples, including those without a miss.
    pub samples: u64,
    /// Misses without an address, missing from all tables.
    pub without_address: u64,
    /// Samples lost because the buffer was full; `None` if the kernel does not count them (before Linux 6.0).
    pub lost: Option<u64>,
    /// Malformed records.
    pub malformed: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde asks for"
)]
fn is_none(number: &u32) -> bool {
    *number == 0
}
