use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use hugewise_base::missing::{Fact, fact};

/// Who an address space belongs to.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its parent's number; 0 for the first process and for what the kernel started.
    pub parent: u32,
    /// When it began, in clock ticks since boot (field 22 of `/proc/PID/stat`): together with
    /// the number it names the process for ever, since numbers are used again.
    pub started_ticks: u64,
    /// Its name (`comm`, at most 15 bytes).
    pub command: String,
    /// Effective user id.
    pub uid: u32,
    /// Threads.
    pub threads: u64,
    /// Children that live.
    pub children: u64,
    /// Whether it was forked and has not executed a program since (`PF_FORKNOEXEC`): then its
    /// memory began as a copy of its parent's.
    pub forked: bool,
    /// What sort of process it is.
    pub sort: Sort,
    /// Whether its words and addresses have 32 or 64 bits (ELF class of its program).
    #[serde(with = "fact")]
    pub word_size: Fact<WordSize>,
    /// `THP_enabled` of `/proc/PID/status` (Linux 5.0): false after
    /// `prctl(PR_SET_THP_DISABLE, 1)`, which is inherited over fork and exec. The mode that
    /// excepts advised memory (Linux 6.18) shows as true (fs/proc/array.c). `None` where the
    /// kernel does not say.
    pub thp_enabled: Option<bool>,
    /// The same of its parent: where only the process has it switched off, it did so itself, or
    /// what started it did between fork and exec. `None` where it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_thp_enabled: Option<bool>,
    /// `VmPTE` of `/proc/PID/status`, in bytes: page tables of all levels but the topmost, those
    /// that are kept under huge pages included (mm_pgtables_bytes, fs/proc/task_mmu.c). `None`
    /// where the kernel does not say, or said otherwise before and after the pages were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_table_bytes: Option<u64>,
    /// Of `/proc/PID/environ`, which is the environment at its start: those of
    /// [`ADVICE_VARIABLES`](crate::inspect::reasons::ADVICE_VARIABLES) and of
    /// [`OFF_VARIABLES`](hugewise_experiment::run::trial::OFF_VARIABLES) that are set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// What sort of process it is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// A program with memory of its own.
    Program,
    /// A thread of the kernel: it has no address space.
    KernelThread,
    /// It ended and waits for its parent: its memory is gone.
    Zombie,
}

/// Size of a machine word.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum WordSize {
    /// 32 bits.
    Bits32,
    /// 64 bits.
    Bits64,
}
