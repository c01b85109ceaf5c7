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
        let (bytes, of) = process.advised_against()?;
        Some(OwnAct::AdvisedAgainst { process, bytes, of })
    }
}
