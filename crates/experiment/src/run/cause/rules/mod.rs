//! The rules about programs, one file each. A file opens with the claim; `explain.toml` has the evidence.

pub(super) mod after_fork;
pub(super) mod bloat;
pub(super) mod fell_back;
pub(super) mod gaps;
pub(super) mod heap_steps;
pub(super) mod host_memory;
pub(super) mod khugepaged;
pub(super) mod memory_limit;
pub(super) mod own_act;
pub(super) mod same_pages;
pub(super) mod short;
pub(super) mod slow_requests;
pub(super) mod stacks;
pub(super) mod translation;
pub(super) mod zero_page;

pub use after_fork::CopyOnWriteAfterFork;
pub use bloat::{MemoryBloat, Sibling};
pub use fell_back::HugeAllocationFellBack;
pub use gaps::{FilledGaps, GapsDoubt};
pub use heap_steps::HeapGrewInSteps;
pub use host_memory::HostColdMemory;
pub use khugepaged::KhugepagedHadNoTime;
pub use memory_limit::MemoryLimitReached;
pub use own_act::ProgramDisablesThp;
pub use same_pages::{NothingHuge, SamePages};
pub use slow_requests::SlowRequestsStalled;
pub use stacks::ThreadStacksGrew;
pub use translation::Translation;
pub use zero_page::ReadFirstZeroPage;
