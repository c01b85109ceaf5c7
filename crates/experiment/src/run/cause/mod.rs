//! Causes: why an effect is there, or why there is none, as typed figures.
//!
//! [`causes`](crate::run::cause::causes) asks every rule of one experiment. A rule speaks of medians over successful
//! trials, and of differences in seconds by means over paired rounds. It names the cause of a difference only if the
//! comparison is decided. `answer::words::cause` has the words, `explain.toml` the evidence.
//! [`facts`](crate::run::cause::facts) are no causes.

use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

use crate::run::compare::Table;
use crate::run::record::Record;

mod bench;
mod breakdown;
mod context;
mod coverage;
mod explain;
pub mod facts;
mod host_memory;
mod paired;
mod rules;

pub use bench::{
    GrowthBelowHugePage, LargeShare, Misread, NoDifference, ReadFirstPrefault, ZeroPageSource,
};
pub use breakdown::{
    Arrival, Breakdown, FewerFaults, Lasting, MovedToStart, Part, Seconds, Share, Stalls, UserTime,
    Walks, WalksFell, Way, Zeroing,
};
pub use context::{Context, MissingInput, Pair};
pub use explain::{Explanation, explanations};
pub use host_memory::{HostColdMemory, Uneven};
pub use rules::kernel::{
    CopyOnWriteAfterFork, HugeAllocationFellBack, KhugepagedHadNoTime, ReadFirstZeroPage,
};
pub use rules::memory::{
    GapsDoubt, KhugepagedFilledGaps, MemoryBloat, MemoryLimitReached, Sibling, ThreadStacksGrew,
};
pub use rules::program::{HeapGrewInSteps, ProgramDisablesThp, Translation, WorkloadTooShort};
pub use rules::same_pages::{NothingHuge, SamePages};
pub use rules::slow_requests::SlowRequestsStalled;

/// One cause, as far as the record shows it.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Cause {
    /// The arm that it is about; `None` for the whole experiment.
    pub arm: Option<String>,
    /// The outcome.
    pub outcome: CauseOutcome,
    /// Its name.
    #[serde(rename = "cause")]
    pub id: CauseId,
    /// Its figures.
    #[serde(flatten)]
    pub kind: Kind,
}

/// The result of looking for a cause. The order is that in which causes are listed.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum CauseOutcome {
    /// The evidence is there.
    Shown,
    /// The evidence could not be read.
    CannotTell,
    /// The evidence was looked for and is not there.
    NotShown,
}

impl CauseOutcome {
    /// Returns the outcome of evidence that was read.
    fn shown_if(is_there: bool) -> Self {
        match is_there {
            true => Self::Shown,
            false => Self::NotShown,
        }
    }
}

/// Returns all causes of one experiment: shown first, then those that cannot be told, then those not shown.
///
/// Programs that are compared with each other have none, because rules compare policies. Periods of a running process
/// have none, because rules are about whole runs.
#[must_use]
pub fn causes(record: &Record, table: &Table) -> Vec<Cause> {
    let plan = &record.header.plan;
    if !plan.programs.is_empty() || plan.live.is_some() {
        return Vec::new();
    }
    let mut causes = rules::check(&Context::new(record, table));
    causes.sort_by_key(|cause| cause.outcome);
    causes
}

/// The name of a cause.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CauseId {
    /// The program keeps huge pages from its own memory.
    ProgramDisablesThp,
    /// The workload is too short to say much.
    WorkloadTooShort,
    /// The program ran into the memory limit of its policy.
    MemoryLimitReached,
    /// The arm changed nothing about the program's pages.
    SamePages,
    /// The heap grows in steps smaller than a huge page.
    HeapGrewInSteps,
    /// The parts of a change in time.
    Breakdown,
    /// The largest share of CPU time that cheaper address translation could save.
    Translation,
    /// The slowest requests met stalls of the kernel.
    SlowRequestsStalled,
    /// The first touch of memory is dear after the hypervisor took it back.
    HostColdMemory,
    /// The kernel tried to allocate huge pages and failed.
    HugeAllocationFellBack,
    /// The run was too short for khugepaged.
    KhugepagedHadNoTime,
    /// The program read memory that it never wrote.
    ReadFirstZeroPage,
    /// Writes after a fork split huge pages.
    CopyOnWriteAfterFork,
    /// Huge pages made the program larger.
    MemoryBloat,
    /// khugepaged made untouched memory resident.
    KhugepagedFilledGaps,
    /// Thread stacks became huge pages.
    ThreadStacksGrew,
    /// No cell of a bench differs.
    NoDifference,
    /// A cell of a bench read the zero page.
    ZeroPageSource,
    /// Prefaulting by reads leaves small pages.
    ReadFirstPrefault,
    /// A heap that grows by less than a huge page gets none.
    GrowthBelowHugePage,
    /// Page faults are a large share of the time.
    PageFaultBound,
    /// Zeroing is a large share of the time.
    ZeroingBound,
}

impl CauseId {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name in JSON and documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The figures of a cause: their type has its name.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the types have the documents")]
pub enum Kind {
    /// A reading that the rule needs is missing.
    Unread {
        /// Which one, and why.
        missing: MissingInput,
    },
    ProgramDisablesThp(ProgramDisablesThp),
    WorkloadTooShort(WorkloadTooShort),
    MemoryLimitReached(MemoryLimitReached),
    SamePages(SamePages),
    HeapGrewInSteps(HeapGrewInSteps),
    Breakdown(Box<Breakdown>),
    Translation(Translation),
    SlowRequestsStalled(SlowRequestsStalled),
    HostColdMemory(HostColdMemory),
    HugeAllocationFellBack(HugeAllocationFellBack),
    KhugepagedHadNoTime(KhugepagedHadNoTime),
    ReadFirstZeroPage(ReadFirstZeroPage),
    CopyOnWriteAfterFork(CopyOnWriteAfterFork),
    MemoryBloat(MemoryBloat),
    KhugepagedFilledGaps(KhugepagedFilledGaps),
    ThreadStacksGrew(ThreadStacksGrew),
    NoDifference(NoDifference),
    ZeroPageSource(ZeroPageSource),
    ReadFirstPrefault(ReadFirstPrefault),
    GrowthBelowHugePage(GrowthBelowHugePage),
    /// Of [`CauseId::PageFaultBound`] and [`CauseId::ZeroingBound`].
    LargeShare(LargeShare),
}
