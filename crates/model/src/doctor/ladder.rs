//! The ladder: what each rung is called, what opens it, and what is lost without it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{RungReport, Support};
use crate::base::missing::Missing;

/// Something that may or may not be possible here, from the least demanding up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// Wall time, exit status, resource usage.
    WallTime,
    /// Counters of processes and of the machine in `/proc`.
    ProcFiles,
    /// Which pages of a process are huge (`PAGEMAP_SCAN`, Linux 6.7).
    PageScan,
    /// Policies for one process (`PR_SET_THP_DISABLE`).
    ProcessPolicy,
    /// "Only advised memory" for one process (Linux 6.18).
    ExceptAdvised,
    /// `MADV_COLLAPSE` on one's own memory (Linux 6.1).
    Collapse,
    /// `MADV_COLLAPSE` on the memory of another process.
    CollapseRemote,
    /// Page faults in user mode (software perf event).
    FaultsUser,
    /// Page faults in kernel mode too.
    FaultsKernel,
    /// Hardware counters.
    Cycles,
    /// Hardware counters of TLB misses.
    TlbMisses,
    /// Enough counters at once.
    CounterGroup,
    /// The machine's own THP settings.
    SystemPolicy,
    /// A memory cgroup for each trial.
    OwnCgroup,
    /// Physical frame numbers in pagemap.
    FrameNumbers,
    /// What kind each physical page is (`/proc/kpageflags`).
    PageFlags,
    /// BPF maps and tracing programs.
    Bpf,
    /// The kernel's own types, for BPF programs that move between kernels.
    Btf,
    /// Breakpoints at kernel functions (kprobe).
    Kprobe,
    /// BPF programs at kernel functions (fentry).
    Fentry,
}

/// What is always true of a rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// In the user's words.
    pub title: &'static str,
    /// What opens it where the probe named no grant; empty where nothing does.
    pub remedy: &'static str,
    /// What is lost without it.
    pub loss: &'static str,
}

impl Rung {
    /// Every rung, from the bottom.
    #[rustfmt::skip]
    pub const ALL: [Self; 20] = [
        Self::WallTime, Self::ProcFiles, Self::PageScan, Self::ProcessPolicy, Self::ExceptAdvised,
        Self::Collapse, Self::CollapseRemote, Self::FaultsUser, Self::FaultsKernel, Self::Cycles,
        Self::TlbMisses, Self::CounterGroup, Self::SystemPolicy, Self::OwnCgroup,
        Self::FrameNumbers, Self::PageFlags, Self::Bpf, Self::Btf,
        Self::Kprobe, Self::Fentry,
    ];
}

/// What is always true of a rung.
#[must_use]
#[rustfmt::skip]
pub fn step(rung: Rung) -> Step {
    let (title, remedy, loss) = match rung {
        Rung::WallTime => ("wall time, exit status, resource usage", "", "nothing can be said"),
        Rung::ProcFiles => ("memory of processes and counters of the machine",
            "run as the same user, with /proc mounted", "no memory, no THP events"),
        Rung::PageScan => ("which pages are huge, exactly (PAGEMAP_SCAN)",
            "Linux 6.7 or newer", "sums from smaps only; the huge zero page is invisible"),
        Rung::ProcessPolicy => ("THP off for one process",
            "a kernel with PR_SET_THP_DISABLE, not filtered by seccomp", "policies need the system's settings"),
        Rung::ExceptAdvised => ("THP for advised memory only, for one process",
            "Linux 6.18 or newer", "thp=madvise needs the system's settings where they say always"),
        Rung::Collapse => ("huge pages made on demand in one's own memory",
            "Linux 6.1 or newer", "only faults and khugepaged make huge pages"),
        Rung::CollapseRemote => ("huge pages made on demand in a running process",
            "Linux 6.1 or newer", "nobody can give a running process huge pages from outside"),
        Rung::FaultsUser => ("page faults one by one, user mode (`faults`)",
            "a kernel with CONFIG_PERF_EVENTS", "fault counts from getrusage only; no latencies"),
        Rung::FaultsKernel => ("page faults one by one, kernel mode too (`faults`)",
            "a kernel with CONFIG_PERF_EVENTS", "faults that system calls take are not timed"),
        Rung::Cycles => ("hardware counters",
            "bare metal, or a virtual machine with a virtual PMU",
            "no cycles or instructions: why the processor was faster cannot be seen"),
        Rung::TlbMisses => ("TLB miss counters", "", "no evidence of address translation"),
        Rung::CounterGroup => ("cycles, instructions and TLB misses at once",
            "free a counter: sysctl kernel.nmi_watchdog=0", "counters are spread over rounds"),
        Rung::SystemPolicy => ("the system's THP settings",
            "root, outside of a container", "policies for single processes only"),
        Rung::OwnCgroup => ("a memory cgroup for each trial",
            "a mounted memory controller", "no peak of the whole tree with its page cache"),
        Rung::FrameNumbers => ("physical frame numbers",
            "a kernel with CONFIG_PROC_PAGE_MONITOR", "no multi-size folios per process, no physical contiguity"),
        Rung::PageFlags => ("the kind of each physical page (kpageflags)",
            "a kernel with CONFIG_PROC_PAGE_MONITOR", "no multi-size folios per process"),
        Rung::Bpf => ("latencies in the kernel (BPF; `trace`, `run`)",
            "a kernel with BPF", "no latency of zeroing, compaction and reclaim"),
        Rung::Btf => ("the kernel's types (BTF)",
            "a kernel with CONFIG_DEBUG_INFO_BTF", "BPF programs that read kernel structures cannot load"),
        Rung::Kprobe => ("any kernel function, by breakpoint (kprobe)",
            "a kernel with CONFIG_KPROBE_EVENTS", "only functions that have a tracepoint can be timed"),
        Rung::Fentry => ("any kernel function, by call (fentry)",
            "a kernel with CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS, not locked down",
            "functions are timed by breakpoints, which cost more, or not at all"),
    };
    Step { title, remedy, loss }
}

/// The rungs that were tried, with what would open those that are shut.
pub(super) fn report(ladder: &BTreeMap<Rung, Support<String>>) -> Vec<RungReport> {
    ladder
        .iter()
        .map(|(&rung, support)| {
            let step = step(rung);
            RungReport {
                rung,
                title: step.title.to_owned(),
                support: support.clone(),
                remedy: remedy(support, step.remedy),
                loss: step.loss.to_owned(),
            }
        })
        .collect()
}

/// The grant that the probe named is better than the general remedy, and an answer that proves
/// nothing has none.
fn remedy(support: &Support<String>, general: &str) -> Option<String> {
    match support {
        Support::Yes { .. } => None,
        Support::No {
            missing: Missing::NotPermitted { grant },
        } => Some(grant.clone()),
        Support::No {
            missing: Missing::NoHardware,
        } => Some(step(Rung::Cycles).remedy.to_owned()),
        Support::No { .. } => Some(general.to_owned()).filter(|text| !text.is_empty()),
        Support::Unknown { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rung_is_listed_once_and_says_what_is_lost() {
        let all: BTreeSet<Rung> = Rung::ALL.into_iter().collect();
        assert_eq!(all.len(), Rung::ALL.len());
        let mut titles = BTreeSet::new();
        for rung in Rung::ALL {
            let step = step(rung);
            assert!(!step.loss.is_empty(), "{rung:?}");
            assert!(titles.insert(step.title), "{rung:?}");
            assert!(step.title.chars().count() <= 52, "{rung:?} is too long");
        }
        assert!(Rung::ALL.is_sorted());
    }
}
