//! How a rule is followed: what is set, and whether one process can have it alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use hugewise_experiment::run::policy::{self, Policy};

/// The policy of a rule that keeps huge pages from a program.
pub const OFF: &str = "thp=never";

/// How to follow a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// A policy for this process alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The application's own setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conf: Option<ConfLine>,
    /// Its environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Arguments to add.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The machine's settings below `/sys/kernel/mm/transparent_hugepage`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub thp: BTreeMap<String, String>,
    /// The machine's settings of sysctl.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, String>,
    /// What is no setting: a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
}

/// A line of an application's configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfLine {
    /// Name of the file.
    pub file: String,
    /// The line.
    pub line: String,
}

impl Settings {
    /// The policy, where a process can be under it alone: without settings of the machine.
    #[must_use]
    pub fn own_policy(&self) -> Option<&str> {
        self.policy.as_deref().filter(|text| !needs_machine(text))
    }

    /// The policy, where it takes settings of the machine (`--system`).
    #[must_use]
    pub fn machine_policy(&self) -> Option<&str> {
        self.policy.as_deref().filter(|text| needs_machine(text))
    }

    /// Whether they keep huge pages from a program.
    #[must_use]
    pub fn are_off(&self) -> bool {
        self.policy.as_deref() == Some(OFF)
    }

    /// The policy of the arguments, where no other policy does the same.
    #[must_use]
    pub fn arguments_policy(&self) -> Option<Policy> {
        if self.args.is_empty() || self.policy.is_some() {
            return None;
        }
        Some(Policy::of(policy::Settings {
            args: self.args.clone(),
            ..policy::Settings::default()
        }))
    }

    /// Whether the process alone can be told.
    #[must_use]
    pub fn reaches_one_process(&self) -> bool {
        self.own_policy().is_some()
            || self.conf.is_some()
            || !self.env.is_empty()
            || !self.args.is_empty()
    }

    /// Whether the whole machine is told.
    #[must_use]
    pub fn reaches_the_machine(&self) -> bool {
        !self.thp.is_empty() || !self.sysctl.is_empty()
    }
}

/// Whether a policy takes settings of the machine. One that cannot be read takes none: a test
/// holds that all of the rules can.
pub(super) fn needs_machine(text: &str) -> bool {
    let policy = text.parse::<Policy>();
    policy.is_ok_and(|policy| policy.settings.needs_machine())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(policy: &str) -> Settings {
        Settings {
            policy: Some(policy.to_owned()),
            ..Settings::default()
        }
    }

    #[test]
    fn a_policy_of_the_machine_reaches_no_process_alone() {
        for own in ["thp=never", "malloc=thp", "java.UseTransparentHugePages=+"] {
            let set = of(own);
            assert_eq!((set.own_policy(), set.machine_policy()), (Some(own), None));
            assert!(set.reaches_one_process(), "{own}");
        }
        for shared in [
            "defrag=never",
            "thp=always,khugepaged.max_ptes_none=0",
            "mthp=64k:inherit",
            "mthp_shmem=64k:advise",
            "shmem=advise,thp=madvise",
            "zero_page=0",
            "hugetlb=2M:512,malloc=hugetlb",
        ] {
            let set = of(shared);
            assert_eq!(
                (set.own_policy(), set.machine_policy()),
                (None, Some(shared))
            );
            assert!(!set.reaches_one_process(), "{shared}");
        }
    }
}
