//! The policy as shown by the kernel.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{MappedSite, OwnAct, ProcessTree, Tracing};
use crate::base::host::ThpDisable;

/// The policy as shown by the kernel while the workload ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ReadBack {
    /// The THP files written by any policy of the experiment, read while the workload ran: path relative to the root of
    /// the machine, and the active value.
    pub files: BTreeMap<String, String>,
    /// `PR_GET_THP_DISABLE` in the workload's process just before it became the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thp_disable: Option<ThpDisable>,
    /// Allocator library mapped by the workload, if the policy requires one: `Some(path)` if found, an empty string if
    /// missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<String>,
    /// Had the largest process mapped the library through which programs advise their memory? `None` if no policy
    /// required it, if this could not be read, or if the process had mapped no C library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<bool>,
    /// The settings reported by runtimes before the trial, by key (`java.UseLargePages`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub runtimes: BTreeMap<String, String>,
    /// The workload's processes while they ran; `None` if none could be inspected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<ProcessTree>,
    /// The tracer's actions on the tree, if the policy has a tracer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// The sites of a running process whose pages were switched, if the experiment distinguishes sites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switched: Vec<MappedSite>,
    /// The cgroup of the trial, if the policy limits its memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<TrialCgroup>,
    /// The memory policy of the workload's process in the format of `/proc/PID/numa_maps`, if the policy sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa: Option<String>,
    /// The option `huge=` of the tmpfs that the workload's process sees at the path of the policy, if the policy mounts
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmpfs: Option<String>,
    /// How the files that a policy of the experiment names were cached before the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_cache: Option<CachedFiles>,
}

/// Files in the page cache.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct CachedFiles {
    /// Their size.
    pub bytes: u64,
    /// The part that a process can map by huge pages (`FilePmdMapped`).
    pub huge_bytes: u64,
}

/// The memory limits of a cgroup, in bytes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct MemoryLimits {
    /// Beyond it, the kernel reclaims, and kills if that is not enough: `memory.max` of version 2,
    /// `memory.limit_in_bytes` of version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Beyond it, the kernel reclaims and slows the program down: `memory.high` of version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_bytes: Option<u64>,
}

impl MemoryLimits {
    /// Returns true if there is no limit.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The cgroup of a trial: its limits as read back, and whether they acted.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct TrialCgroup {
    /// The active limits.
    pub limits: MemoryLimits,
    /// How often the hard limit was reached: `memory.failcnt`, or `max` of `memory.events`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_max: Option<u64>,
    /// How often the limit of `memory.high` was exceeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_high: Option<u64>,
    /// Processes that the kernel killed at the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed: Option<u64>,
}

impl ReadBack {
    /// The sites that a tracer distinguished, or those that were switched. `None` if neither.
    #[must_use]
    pub fn sites(&self) -> Option<&[MappedSite]> {
        let traced = self.tracing.as_ref().map(|it| it.sites.as_slice());
        traced.or((!self.switched.is_empty()).then_some(&self.switched))
    }

    /// The program's action against huge pages; inherited settings do not count.
    #[must_use]
    pub fn own_act(&self) -> Option<OwnAct<'_>> {
        let process = &self.tree.as_ref()?.largest;
        let inherited = self.thp_disable == Some(ThpDisable::Disabled);
        if process.thp_enabled == Some(false) && !inherited {
            return Some(OwnAct::SwitchedOff(process));
        }
        let advised = process.advised_against();
        let advised = advised.map(|(bytes, of)| OwnAct::AdvisedAgainst { process, bytes, of });
        advised.or_else(|| {
            let (bytes, of) = process.thread_stacks()?;
            Some(OwnAct::ThreadStacks { process, bytes, of })
        })
    }
}
