use super::Facility;
use serde::{Deserialize, Serialize};

use hugewise_base::verification::Verification;
use hugewise_experiment::run::trial::Outcome;
use hugewise_observe::faults;
use hugewise_observe::faults::{Known, Modes};

/// One line of a recording: a miss, its beginning or end, or a change of an address space, which
/// is a [`faults::Event`].
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(untagged)]
pub enum Event {
    /// A miss, or the beginning or end.
    Misses(MissEvent),
    /// Mappings, processes and symbols.
    Space(faults::Event),
}

/// Events that only a recording of misses has.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum MissEvent {
    /// The first: what was sampled, where and how.
    Sampling(Box<Conditions>),
    /// An access that missed every TLB.
    Miss(Miss),
    /// The last.
    Sampled(Box<Closing>),
}

impl Event {
    /// When it happened, where it has a time.
    #[must_use]
    pub fn time_ns(&self) -> Option<u64> {
        match self {
            Self::Misses(MissEvent::Miss(miss)) => Some(miss.time_ns),
            Self::Misses(_) => None,
            Self::Space(event) => event.time_ns(),
        }
    }
}

/// How misses were sampled, and on what machine.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Version of the program that recorded.
    pub hugewise: String,
    /// The target, as the user named it.
    pub subject: String,
    /// When it began, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Kernel release.
    pub kernel: String,
    /// Model of the processor.
    pub cpu_model: String,
    /// Size of a base page, in bytes.
    pub page_bytes: u64,
    /// Size of a page that a PMD maps, in bytes, where the kernel has them.
    pub pmd_bytes: Option<u64>,
    /// How the hardware samples.
    pub means: Facility,
    /// What it samples: names of events.
    pub sampled: String,
    /// Events per sample.
    pub every: u64,
    /// In which modes.
    pub modes: Modes,
    /// Whether samples have the page size at their address.
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

/// What an access did.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// It read.
    Load,
    /// It wrote, or read and wrote.
    Store,
}

/// An access that missed every TLB.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Miss {
    /// Nanoseconds of the monotonic clock. With SPE the time at which its buffer was read, a
    /// little later than the access.
    pub time_ns: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// The address that was accessed.
    pub address: u64,
    /// The address of the instruction.
    pub code: u64,
    /// What it did.
    pub access: AccessKind,
    /// Size of the page at the address, in bytes, when the sample was taken (PEBS, IBS) or read
    /// (SPE).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// Translation latency, in cycles, where the hardware reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill_cycles: Option<u64>,
}

/// How it ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// How long it was sampled, in nanoseconds.
    pub wall_ns: u64,
    /// How the command ended; `None` for what was there before, or when interrupted.
    pub outcome: Option<Outcome>,
    /// Processes that the command left running when it ended; they were ended.
    #[serde(default, skip_serializing_if = "is_none")]
    pub outlived: u32,
    /// All samples, with those that missed nothing.
    pub samples: u64,
    /// Misses without an address, which are in no table.
    pub without_address: u64,
    /// Samples lost for want of buffer space; `None` if the kernel does not count them (before
    /// Linux 6.0).
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
