//! The kinds of causes, each with its figures.

use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

use super::{
    Breakdown, CopyOnWriteAfterFork, FilledGaps, GrowthBelowHugePage, HeapGrewInSteps,
    HostColdMemory, HugeAllocationFellBack, KhugepagedHadNoTime, LargeShare, MemoryBloat,
    MemoryLimitReached, MissingInput, NoDifference, ProgramDisablesThp, ReadFirstPrefault,
    ReadFirstZeroPage, SamePages, SlowRequestsStalled, ThreadStacksGrew, TooShort, Translation,
    ZeroPageSource,
};

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

/// The figures of a cause, which has the same name.
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
    WorkloadTooShort(TooShort),
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
    KhugepagedFilledGaps(FilledGaps),
    ThreadStacksGrew(ThreadStacksGrew),
    NoDifference(NoDifference),
    ZeroPageSource(ZeroPageSource),
    ReadFirstPrefault(ReadFirstPrefault),
    GrowthBelowHugePage(GrowthBelowHugePage),
    /// Of [`CauseId::PageFaultBound`] and [`CauseId::ZeroingBound`].
    LargeShare(LargeShare),
}
