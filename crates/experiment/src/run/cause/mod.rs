//! Causes of an effect, or of its absence, as typed figures.
//!
//! [`causes`](crate::run::cause::causes) evaluates every rule for one experiment. A rule uses medians over successful
//! trials, and means over paired rounds for differences in seconds. It names the cause of a difference only if the
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

/// One cause, as shown by the record.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Cause {
    /// The arm; `None` for the whole experiment.
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

/// The result of looking for a cause, in the order of the report.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum CauseOutcome {
    /// The evidence exists.
    Shown,
    /// The evidence could not be read.
    CannotTell,
    /// The evidence was read and does not exist.
    NotShown,
}

impl CauseOutcome {
    /// Returns the outcome for evidence with readings.
    fn shown_if(is_there: bool) -> Self {
        match is_there {
            true => Self::Shown,
            false => Self::NotShown,
        }
    }
}

/// Returns all causes of one experiment: shown ones first, then undecidable ones, then those not shown.
///
/// Comparisons of programs have none, because rules compare policies. Periods of a running process have none, because
/// rules cover whole runs.
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
    /// The workload is too short to show much.
    WorkloadTooShort,
    /// The program reached the memory limit of its policy.
    MemoryLimitReached,
    /// The arm changed nothing about the program's pages.
    SamePages,
    /// The heap grows in steps smaller than a huge page.
    HeapGrewInSteps,
    /// The parts of a change in time.
    Breakdown,
    /// The largest share of CPU time that cheaper address translation could save.
    Translation,
    /// The slowest requests overlapped with stalls of the kernel.
    SlowRequestsStalled,
    /// The first touch of memory is expensive after the hypervisor took it back.
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

/// Returns the name used in JSON and documents.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the types have the documents")]
pub enum Kind {
    /// A reading needed by the rule is missing.
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
    /// For [`CauseId::PageFaultBound`] and [`CauseId::ZeroingBound`].
    LargeShare(LargeShare),
}
