use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use hugewise_base::missing::{Fact, fact};

/// The process of an address space.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// The PID.
    pub pid: u32,
    /// The parent's PID; 0 for the first process and for kernel threads.
    pub parent: u32,
    /// Start time in clock ticks since boot (field 22 of `/proc/PID/stat`). Together with the PID it identifies the
    /// process uniquely, because PIDs are reused.
    pub started_ticks: u64,
    /// Its name (`comm`, at most 15 bytes).
    pub command: String,
    /// Effective user id.
    pub uid: u32,
    /// The number of threads.
    pub threads: u64,
    /// The number of live children.
    pub children: u64,
    /// True if the process was forked and has not called exec since (`PF_FORKNOEXEC`). Its memory then began as a copy
    /// of its parent's.
    pub forked: bool,
    /// The sort of process.
    pub sort: Sort,
    /// 32 or 64 bits, from the ELF class of its program.
    #[serde(with = "fact")]
    pub word_size: Fact<WordSize>,
    /// `THP_enabled` in `/proc/PID/status` (Linux 5.0): false after `prctl(PR_SET_THP_DISABLE, 1)`, which fork and exec
    /// inherit. The mode that excepts advised memory (Linux 6.18) shows as true (fs/proc/array.c). `None` if the kernel
    /// does not report it.
    pub thp_enabled: Option<bool>,
    /// `THP_enabled` of its parent. If only the process has THP disabled, it made the call, or its launcher did between
    /// fork and exec. `None` if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_thp_enabled: Option<bool>,
    /// `VmPTE` in `/proc/PID/status`, in bytes: page tables of all levels except the topmost, including those kept
    /// under huge pages (mm_pgtables_bytes, fs/proc/task_mmu.c). `None` if the kernel does not report it, or if it
    /// changed while the pages were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_table_bytes: Option<u64>,
    /// Variables from `/proc/PID/environ`, the environment at its start. Contains those of
    /// [`ADVICE_VARIABLES`](crate::inspect::reasons::ADVICE_VARIABLES) and
    /// [`OFF_VARIABLES`](hugewise_experiment::run::trial::OFF_VARIABLES) that are set. `GLIBC_TUNABLES` includes the
    /// entries of `/etc/tunables.conf` for this process.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// The sort of process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// A user program.
    Program,
    /// A kernel thread, which has no address space.
    KernelThread,
    /// A zombie: it ended and waits for its parent, and its memory is gone.
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
