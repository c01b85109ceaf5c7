//! Features: their names, requirements, and the loss without them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::{FeatureReport, Support};
use hugewise_base::missing::Missing;

/// A feature that can be missing, the least demanding first.
#[derive(
    Clone,
    Copy,
    Debug,
    Serialize,
    Deserialize,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Feature {
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
    /// `MADV_COLLAPSE` on the caller's memory (Linux 6.1).
    Collapse,
    /// `MADV_COLLAPSE` on the memory of another process.
    CollapseRemote,
    /// Collapsing huge pages of another process and splitting them again.
    Switchback,
    /// A seccomp filter and ptrace for a child.
    Tracing,
    /// A directory for a library that programs preload.
    Preload,
    /// Page faults in user mode (software perf event).
    FaultsUser,
    /// Page faults in kernel mode too.
    FaultsKernel,
    /// Hardware counters.
    Cycles,
    /// Hardware counters of TLB misses.
    TlbMisses,
    /// Enough counters at the same time.
    CounterGroup,
    /// The machine's own THP settings.
    SystemPolicy,
    /// A memory cgroup for each trial.
    OwnCgroup,
    /// Physical frame numbers in pagemap.
    FrameNumbers,
    /// The flags of each physical page (`/proc/kpageflags`).
    PageFlags,
    /// BPF maps and tracing programs.
    Bpf,
    /// Kernel type information (BTF), which makes BPF programs portable between kernels.
    Btf,
    /// Breakpoints at kernel functions (kprobe).
    Kprobe,
    /// BPF programs at kernel functions (fentry).
    Fentry,
}

/// The texts of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name for people.
    pub title: &'static str,
    /// The requirement, if the probe named no grant; empty if nothing helps.
    pub remedy: &'static str,
    /// The loss without it, as a noun phrase.
    pub loss: &'static str,
}

impl Feature {
    /// Every feature, the least demanding first.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name in all outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The feature that this one depends on.
    #[must_use]
    pub fn base(self) -> Option<Self> {
        match self {
            Self::FaultsKernel => Some(Self::FaultsUser),
            Self::TlbMisses | Self::CounterGroup => Some(Self::Cycles),
            Self::Switchback => Some(Self::CollapseRemote),
            Self::PageFlags => Some(Self::FrameNumbers),
            Self::Fentry => Some(Self::Bpf),
            _ => None,
        }
    }
}

/// The texts of a feature.
#[must_use]
#[rustfmt::skip]
pub fn step(feature: Feature) -> Step {
    let (title, remedy, loss) = match feature {
        Feature::WallTime => ("wall time and resource usage", "", "everything"),
        Feature::ProcFiles => ("memory and THP events",
            "a kernel that has /proc/vmstat (WSL 1 has none), and /proc mounted", "memory sizes and THP events"),
        Feature::PageScan => ("huge pages by address",
            "Linux 6.7 or newer", "addresses of huge pages (PAGEMAP_SCAN) and the huge zero page: smaps has sums only"),
        Feature::ProcessPolicy => ("THP off per process",
            "a kernel with PR_SET_THP_DISABLE, not filtered by seccomp",
            "policies per process: they need the system's settings"),
        Feature::ExceptAdvised => ("THP=madvise per process",
            "Linux 6.18 or newer", "thp=madvise per process where the system says always"),
        Feature::Collapse => ("collapse of own memory",
            "Linux 6.1 or newer", "huge pages on demand, and the policy collapse: only faults and khugepaged make them"),
        Feature::CollapseRemote => ("collapse of a process",
            "Linux 6.1 or newer", "huge pages for a running process (`collapse`)"),
        Feature::Switchback => ("switching pages of a process",
            "a kernel that splits a huge page on MADV_COLD", "the experiment inside a running process (`live`)"),
        Feature::Tracing => ("THP=always per process",
            "ptrace and seccomp for one's own children", "thp=always and collapse for one program without root, by tracing it"),
        Feature::Preload => ("THP=always by preloading",
            "a folder for temporary files without noexec",
            "thp=always for dynamic programs where ptrace is forbidden"),
        Feature::FaultsUser => ("page faults, user mode",
            "a kernel with CONFIG_PERF_EVENTS", "fault latency (`faults`): getrusage has counts only"),
        Feature::FaultsKernel => ("page faults, kernel mode",
            "a kernel with CONFIG_PERF_EVENTS", "latency of faults in system calls (`faults`)"),
        Feature::Cycles => ("hardware counters",
            "bare metal, or a VM with a virtual PMU",
            "cycles and instructions, and with them the reason for a change of speed"),
        Feature::TlbMisses => ("TLB miss counters", "", "TLB misses and page walks"),
        Feature::CounterGroup => ("three counters at once",
            "a free counter: sysctl kernel.nmi_watchdog=0", "cycles, instructions and TLB misses in one round"),
        Feature::SystemPolicy => ("system-wide THP settings",
            "a kernel with CONFIG_TRANSPARENT_HUGEPAGE, and /sys mounted", "system-wide policies (--system)"),
        Feature::OwnCgroup => ("memory cgroup per trial",
            "a mounted memory controller", "peak memory of all processes with their page cache"),
        Feature::FrameNumbers => ("physical frame numbers",
            "a kernel with CONFIG_PROC_PAGE_MONITOR",
            "multi-size folios per process, physical contiguity"),
        Feature::PageFlags => ("page flags (kpageflags)",
            "a kernel with CONFIG_PROC_PAGE_MONITOR", "multi-size folios per process"),
        Feature::Bpf => ("kernel latencies (BPF)",
            "a kernel with BPF", "latency of zeroing, compaction and reclaim (`trace`, `run`)"),
        Feature::Btf => ("kernel types (BTF)",
            "a kernel with CONFIG_DEBUG_INFO_BTF", "BPF programs that read kernel structures"),
        Feature::Kprobe => ("functions by kprobe",
            "a kernel with CONFIG_KPROBE_EVENTS", "latency of kernel functions without a tracepoint"),
        Feature::Fentry => ("functions by fentry",
            "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS and no lockdown",
            "cheap latency of kernel functions: kprobes cost more"),
    };
    Step { title, remedy, loss }
}

/// Reports the probed features, with the requirements of the missing ones.
pub(super) fn report(ladder: &BTreeMap<Feature, Support<String>>) -> Vec<FeatureReport> {
    ladder
        .iter()
        .map(|(&feature, support)| {
            let step = step(feature);
            FeatureReport {
                feature,
                title: step.title.to_owned(),
                support: support.clone(),
                remedy: remedy(support, step.remedy),
                loss: step.loss.to_owned(),
            }
        })
        .collect()
}

/// The grant that the probe named, or else the general remedy; none if the answer is inconclusive.
fn remedy(support: &Support<String>, general: &str) -> Option<String> {
    match support {
        Support::Yes { .. } => None,
        Support::No {
            missing: Missing::NotPermitted { grant },
        } => Some(grant.clone()),
        Support::No {
            missing: Missing::NoHardware,
        } => Some(step(Feature::Cycles).remedy.to_owned()),
        Support::No { .. } => Some(general.to_owned()).filter(|text| !text.is_empty()),
        Support::Unknown { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_feature_is_listed_once_with_its_loss() {
        let mut titles = BTreeSet::new();
        for &feature in Feature::ALL {
            let step = step(feature);
            assert!(!step.loss.is_empty(), "{feature:?}");
            assert!(titles.insert(step.title), "{feature:?}");
            assert!(step.title.chars().count() <= 28, "{feature:?} is too long");
        }
    }
}
