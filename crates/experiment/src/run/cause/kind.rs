//! The kinds of causes, each with its figures.

use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

use super::facts::TooShort;
use super::{
    Breakdown, CopyOnWriteAfterFork, FilledGaps, GrowthBelowHugePage, HeapGrewInSteps,
    HostColdMemory, HugeAllocationFellBack, KhugepagedHadNoTime, LargeShare, MemoryBloat,
    MemoryLimitReached, MissingInput, NoDifference, ProgramDisablesThp, ReadFirstPrefault,
    ReadFirstZeroPage, SamePages, SlowRequestsStalled, ThreadStacksGrew, Translation,
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

/// The figures of a cause.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(untagged)]
pub enum Kind {
    /// A reading that the rule needs is missing.
    Unread {
        /// Which one, and why.
        missing: MissingInput,
    },
    /// Figures of [`CauseId::ProgramDisablesThp`].
    ProgramDisablesThp(ProgramDisablesThp),
    /// Figures of [`CauseId::WorkloadTooShort`].
    WorkloadTooShort(TooShort),
    /// Figures of [`CauseId::MemoryLimitReached`].
    MemoryLimitReached(MemoryLimitReached),
    /// Figures of [`CauseId::SamePages`].
    SamePages(SamePages),
    /// Figures of [`CauseId::HeapGrewInSteps`].
    HeapGrewInSteps(HeapGrewInSteps),
    /// Figures of [`CauseId::Breakdown`].
    Breakdown(Box<Breakdown>),
    /// Figures of [`CauseId::Translation`].
    Translation(Translation),
    /// Figures of [`CauseId::SlowRequestsStalled`].
    SlowRequestsStalled(SlowRequestsStalled),
    /// Figures of [`CauseId::HostColdMemory`].
    HostColdMemory(HostColdMemory),
    /// Figures of [`CauseId::HugeAllocationFellBack`].
    HugeAllocationFellBack(HugeAllocationFellBack),
    /// Figures of [`CauseId::KhugepagedHadNoTime`].
    KhugepagedHadNoTime(KhugepagedHadNoTime),
    /// Figures of [`CauseId::ReadFirstZeroPage`].
    ReadFirstZeroPage(ReadFirstZeroPage),
    /// Figures of [`CauseId::CopyOnWriteAfterFork`].
    CopyOnWriteAfterFork(CopyOnWriteAfterFork),
    /// Figures of [`CauseId::MemoryBloat`].
    MemoryBloat(MemoryBloat),
    /// Figures of [`CauseId::KhugepagedFilledGaps`].
    KhugepagedFilledGaps(FilledGaps),
    /// Figures of [`CauseId::ThreadStacksGrew`].
    ThreadStacksGrew(ThreadStacksGrew),
    /// Figures of [`CauseId::NoDifference`].
    NoDifference(NoDifference),
    /// Figures of [`CauseId::ZeroPageSource`].
    ZeroPageSource(ZeroPageSource),
    /// Figures of [`CauseId::ReadFirstPrefault`].
    ReadFirstPrefault(ReadFirstPrefault),
    /// Figures of [`CauseId::GrowthBelowHugePage`].
    GrowthBelowHugePage(GrowthBelowHugePage),
    /// Figures of [`CauseId::PageFaultBound`] and [`CauseId::ZeroingBound`].
    LargeShare(LargeShare),
}
