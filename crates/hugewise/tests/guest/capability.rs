//! The capabilities of a kernel for this user, found by trying.

use std::path::Path;

use hugewise_linux::probe::answers::{Answer, Answers};

use super::yama::SCOPE;

/// A capability that a test needs and not every kernel has. The names are those of `xtask/kernels.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Effective user 0.
    Root,
    /// Transparent huge pages.
    Thp,
    /// Sizes between the base page and the huge page (6.8).
    Mthp,
    /// `PAGEMAP_SCAN` (6.7).
    PageScan,
    /// `MADV_COLLAPSE` (6.1), and permission to trace children.
    Collapse,
    /// `/sys/kernel/btf/vmlinux`.
    Btf,
    /// A tracing program loads.
    Bpf,
    /// The entry of a kernel function can be traced by a breakpoint.
    Kprobe,
    /// The entry of a kernel function can be traced by a call of a BPF program.
    Fentry,
    /// Cycles can be counted.
    Pmu,
    /// The security module that restricts ptrace.
    Yama,
    /// An own cgroup of version 2 or 1 with the memory controller.
    Cgroup,
    /// So little memory that a test may use all of it: a guest runs nothing else.
    LittleMemory,
}

/// Machines with more memory than this have other users, in KiB.
const LITTLE_KIB: u64 = 4 << 20;

impl Capability {
    /// All capabilities.
    pub const ALL: [Self; 13] = [
        Self::Root,
        Self::Thp,
        Self::Mthp,
        Self::PageScan,
        Self::Collapse,
        Self::Btf,
        Self::Bpf,
        Self::Kprobe,
        Self::Fentry,
        Self::Pmu,
        Self::Yama,
        Self::Cgroup,
        Self::LittleMemory,
    ];

    /// The name in results and in the matrix.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Thp => "thp",
            Self::Mthp => "mthp",
            Self::PageScan => "page-scan",
            Self::Collapse => "collapse",
            Self::Btf => "btf",
            Self::Bpf => "bpf",
            Self::Kprobe => "kprobe",
            Self::Fentry => "fentry",
            Self::Pmu => "pmu",
            Self::Yama => "yama",
            Self::Cgroup => "cgroup",
            Self::LittleMemory => "little-memory",
        }
    }

    /// Returns an error with the reason if it is missing.
    pub fn here(self, answers: &Answers) -> Result<(), String> {
        match self {
            Self::Root if answers.euid == 0 => Ok(()),
            Self::Root => Err(format!("user {}", answers.euid)),
            Self::Thp => thp_sizes().map(drop),
            Self::Mthp => match thp_sizes()? {
                0 | 1 => Err("no sizes but the huge one".to_owned()),
                _ => Ok(()),
            },
            Self::PageScan => accepted(answers.pagemap_scan),
            Self::Collapse => accepted(answers.collapse).and(accepted(answers.trace)),
            Self::Btf => accepted(answers.btf),
            Self::Bpf => accepted(answers.bpf_program),
            Self::Kprobe => accepted(answers.kprobe),
            Self::Fentry => accepted(answers.fentry),
            Self::Pmu => accepted(answers.cycles.user),
            Self::Yama if Path::new(SCOPE).exists() => Ok(()),
            Self::Yama => Err(format!("no {SCOPE}")),
            Self::Cgroup => accepted(answers.cgroup_write),
            Self::LittleMemory => little_memory(),
        }
    }
}

fn accepted(answer: Answer) -> Result<(), String> {
    if answer.is_ok() {
        Ok(())
    } else {
        Err(answer.to_string())
    }
}

fn little_memory() -> Result<(), String> {
    let kib = memory_kib("MemTotal:").ok_or("memory that is not known")?;
    match kib <= LITTLE_KIB {
        true => Ok(()),
        false => Err(format!("{} GiB of memory", kib >> 20)),
    }
}

/// A line of `/proc/meminfo`.
pub fn memory_kib(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The number of transparent huge page sizes with a separate policy.
fn thp_sizes() -> Result<usize, String> {
    let folder = "/sys/kernel/mm/transparent_hugepage";
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{folder}: {error}"))?;
    Ok(entries
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with("hugepages-")
        })
        .filter(|entry| entry.path().join("enabled").exists())
        .count())
}
