//! How to follow a rule: the settings, and whether they can be limited to one process.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use hugewise_experiment::run::policy::{self, Policy};

/// The policy of a rule that disables huge pages for a program.
pub const OFF: &str = "thp=never";

/// How to follow a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// A policy for only this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// A setting of the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conf: Option<ConfLine>,
    /// Environment variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Arguments to add.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Machine settings below `/sys/kernel/mm/transparent_hugepage`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub thp: BTreeMap<String, String>,
    /// Machine settings of sysctl.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, String>,
    /// An action that is not a setting, as a sentence.
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
    /// Returns the policy, if it can be applied to one process without machine settings.
    #[must_use]
    pub fn own_policy(&self) -> Option<&str> {
        self.policy.as_deref().filter(|text| !needs_machine(text))
    }

    /// Returns the policy, if it needs machine settings (`--system`).
    #[must_use]
    pub fn machine_policy(&self) -> Option<&str> {
        self.policy.as_deref().filter(|text| needs_machine(text))
    }

    /// Returns true if they disable huge pages for a program.
    #[must_use]
    pub fn are_off(&self) -> bool {
        self.policy.as_deref() == Some(OFF)
    }

    /// Returns the policy that sets the arguments, unless another policy has the same effect.
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

    /// Returns true if they can be limited to one process.
    #[must_use]
    pub fn reaches_one_process(&self) -> bool {
        self.own_policy().is_some()
            || self.conf.is_some()
            || !self.env.is_empty()
            || !self.args.is_empty()
    }

    /// Returns true if they affect the whole machine.
    #[must_use]
    pub fn reaches_the_machine(&self) -> bool {
        !self.thp.is_empty() || !self.sysctl.is_empty()
    }
}

/// Returns true if a policy needs machine settings. An invalid policy needs none; a test ensures that all policies in
/// rules are valid.
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
