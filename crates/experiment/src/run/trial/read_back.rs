//! The policy as the kernel showed it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{OwnAct, ProcessTree, Tracing};
use crate::base::host::ThpDisable;

/// The policy as the kernel showed it while the workload ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ReadBack {
    /// The THP files that any policy of the experiment writes, as read while the workload ran:
    /// path relative to the root of the machine, and the value in force.
    pub files: BTreeMap<String, String>,
    /// `PR_GET_THP_DISABLE` in the workload's process just before it became the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thp_disable: Option<ThpDisable>,
    /// Allocator library that the workload had mapped, when the policy asked for one:
    /// `Some(path)` when found, an empty string when it was looked for and not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<String>,
    /// Whether the largest process had mapped the library by which programs advise their own
    /// memory; `None` where no policy asked, nobody could look, or it had mapped no C library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<bool>,
    /// What runtimes said of their settings when they were asked before the trial, by key
    /// (`java.UseLargePages`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub runtimes: BTreeMap<String, String>,
    /// The workload's processes while they ran; `None` where none could be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<ProcessTree>,
    /// What the tracer of its tree did, where the policy has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// The cgroup of the trial, where the policy limits its memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<TrialCgroup>,
    /// The memory policy of the workload's process in the words of `/proc/PID/numa_maps`, where the
    /// policy sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa: Option<String>,
}

/// What limits the memory of a cgroup, in bytes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct MemoryLimits {
    /// Beyond it the kernel reclaims, and kills where that is not enough: `memory.max` of version
    /// 2, `memory.limit_in_bytes` of version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Beyond it the kernel reclaims and slows the program down: `memory.high` of version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_bytes: Option<u64>,
}

impl MemoryLimits {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// A cgroup of a trial's own: its limits as they were read back, and whether they acted.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct TrialCgroup {
    /// The limits in force.
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
    /// What the program itself did against huge pages; what it inherited is not its own doing.
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
