//! Diagnosis of this machine: what can be measured, what misleads measurements, and wrong settings.
//!
//! Facts come first ([`Examination`](crate::doctor::Examination), filled in by `hugewise-linux`), then rules
//! ([`diagnose`](crate::doctor::diagnose)). Every remark cites evidence that was read on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use hugewise_base::host::Host;
use hugewise_base::missing::{Missing, number_keys};
use hugewise_base::units::bytes_text;

mod boot_line;
mod csv;
mod document;
mod glibc;
mod hazards;
mod ladder;
mod settings;
mod shared_memory;

pub use ladder::{Feature, Step, step};
pub use shared_memory::{SharedMemory, TmpfsMount};

/// The answer of a probe. `Yes` and `No` are certain.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum Support<T> {
    /// It works.
    Yes {
        /// The finding.
        found: T,
    },
    /// It cannot work, and why.
    No {
        /// The reason, with the least grant that would help.
        missing: Missing,
    },
    /// The attempt failed inconclusively.
    Unknown {
        /// The attempt, and the error that the kernel returned.
        error: String,
    },
}

impl<T> Support<T> {
    /// Returns true if it works.
    #[must_use]
    pub fn is_yes(&self) -> bool {
        matches!(self, Self::Yes { .. })
    }
}

/// All data read and all probes tried on one machine.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Examination {
    /// The machine.
    pub host: Host,
    /// The result of each probe, with an optional detail to display.
    pub ladder: BTreeMap<Feature, Support<String>>,
    /// Facts used only by the doctor.
    pub facts: Facts,
}

/// Facts that are not in [`Host`]. `None` means that this kernel does not report the value.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Facts {
    /// `SwapTotal` minus `SwapFree`, in bytes.
    pub swap_used_bytes: Option<u64>,
    /// `MemAvailable`, in bytes.
    pub available_bytes: Option<u64>,
    /// Memory in use in the cgroup level with the smallest limit, in bytes.
    pub cgroup_used_bytes: Option<u64>,
    /// Directory of that level, relative to the root of the machine.
    pub cgroup_folder: Option<String>,
    /// Share of CPU time since boot that the hypervisor stole (0 to 1).
    pub steal_share: Option<f64>,
    /// `shrink_underused` (Linux 6.12).
    pub shrink_underused: Option<bool>,
    /// `/proc/sys/vm/hugetlb_optimize_vmemmap` (Linux 5.19): true if the page descriptors of new hugetlb pages are freed.
    pub vmemmap_optimised: Option<bool>,
    /// `hugepages-<N>kB/shmem_enabled` by N in KiB (Linux 6.11).
    #[serde(with = "number_keys")]
    pub shmem_sizes: BTreeMap<u64, String>,
    /// The writable tmpfs mounts, in the order of the mount table.
    pub tmpfs: Vec<TmpfsMount>,
    /// True if the THP files are on a read-only mount.
    pub thp_read_only: Option<bool>,
    /// `/proc/sys/kernel/perf_event_paranoid`.
    pub perf_event_paranoid: Option<i64>,
    /// Path of the running executable, which receives the capabilities.
    pub program: Option<String>,
    /// True if file capabilities have no effect (`PR_SET_NO_NEW_PRIVS`), as in many containers.
    pub no_new_privileges: bool,
}

/// The kind and version of the JSON document.
pub const FORMAT: &str = "hugewise-diagnosis 1";

/// The result of the doctor.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    /// [`FORMAT`].
    pub format: String,
    /// A one-line description of the machine.
    pub machine: String,
    /// The features, from the least demanding to the most demanding.
    #[serde(rename = "rungs")]
    pub features: Vec<FeatureReport>,
    /// Huge page policies, and how `run` can apply them here; empty if not requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicyReport>,
    /// Pages of shared memory and of each tmpfs; empty if this kernel has no huge pages there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_memory: Vec<SharedMemory>,
    /// Processes in a state that breaks or kills programs; empty if not requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaking: Vec<BreakingState>,
    /// Hazards that mislead measurements on this machine.
    pub hazards: Vec<Remark>,
    /// Settings that are wrong, contradictory, or commonly misunderstood.
    pub settings: Vec<Remark>,
    /// The command that grants the fewest capabilities for everything that a capability enables.
    pub least_grant: Option<String>,
}

/// One feature and its state.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct FeatureReport {
    /// The feature.
    #[serde(rename = "rung")]
    pub feature: Feature,
    /// The name for people.
    pub title: String,
    /// The result of the probe.
    pub support: Support<String>,
    /// The requirement; `None` if it works or if nothing would help.
    pub remedy: Option<String>,
    /// The loss without it, as a noun phrase.
    pub loss: String,
}

/// A policy, and how it can be applied here.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct PolicyReport {
    /// The policy as typed: `thp=always`.
    pub policy: String,
    /// The mechanism that applies it: `a tracer`; `None` if there is none.
    pub means: Option<String>,
    /// The obstacles, and how to remove them; empty if there are none.
    pub obstacles: Vec<String>,
}

/// A process in a state that breaks or kills programs, by a rule of `advise`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct BreakingState {
    /// The PID; `None` for the machine.
    pub pid: Option<u32>,
    /// The name of the program.
    pub program: String,
    /// Name of the rule.
    pub rule: String,
    /// The action to take, as a sentence.
    pub remedy: String,
    /// The consequence otherwise, as sentences.
    pub meaning: String,
}

impl BreakingState {
    /// The name and PID for people.
    #[must_use]
    pub fn who(&self) -> String {
        match self.pid {
            Some(pid) => format!("{} ({pid})", self.program),
            None => self.program.clone(),
        }
    }
}

/// Evidence, its meaning, and the action to take.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Remark {
    /// A stable name, for scripts.
    pub id: String,
    /// Its severity.
    pub severity: Severity,
    /// The values that were read.
    pub evidence: Vec<Evidence>,
    /// The meaning.
    pub meaning: String,
    /// The action to take; empty if there is none.
    pub remedy: String,
}

/// The severity of a [`Remark`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A setting has no effect, or a different effect than its name suggests.
    Wrong,
    /// Measurements here can mislead.
    Warning,
    /// Worth knowing.
    Note,
}

/// A source and its value.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// A path, a system call or a variable.
    pub source: String,
    /// Its value.
    pub value: String,
}

impl Remark {
    /// A remark with its evidence.
    fn new(
        id: &str,
        severity: Severity,
        evidence: Vec<Evidence>,
        meaning: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            id: id.to_owned(),
            severity,
            evidence,
            meaning: meaning.into(),
            remedy: remedy.into(),
        }
    }
}

impl Evidence {
    fn new(source: impl Into<String>, value: impl fmt::Display) -> Self {
        Self {
            source: source.into(),
            value: format!("{value}"),
        }
    }
}

/// A rule: returns a remark on the examination, or `None`.
type Rule = fn(&Examination) -> Option<Remark>;

/// Applies every rule; the most severe remarks first.
#[must_use]
pub fn diagnose(examination: &Examination) -> Diagnosis {
    Diagnosis {
        format: FORMAT.to_owned(),
        machine: machine(&examination.host),
        features: ladder::report(&examination.ladder),
        policies: Vec::new(),
        shared_memory: shared_memory::report(examination),
        breaking: Vec::new(),
        hazards: apply(hazards::RULES, examination),
        settings: apply(settings::RULES, examination),
        least_grant: match examination.facts.no_new_privileges {
            true => None,
            false => least_grant(&examination.ladder, examination.facts.program.as_deref()),
        },
    }
}

fn apply(rules: &[Rule], examination: &Examination) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = rules.iter().filter_map(|rule| rule(examination)).collect();
    remarks.sort_by_key(|remark| remark.severity);
    remarks
}

/// Describes the machine in one line.
fn machine(host: &Host) -> String {
    let base = bytes_text(host.page_bytes);
    let pages = match &host.thp {
        Ok(thp) => format!(
            "pages of {base} and {}, THP {}",
            bytes_text(thp.pmd_bytes),
            thp.effective_pmd_mode()
        ),
        Err(Missing::NotSupported { .. }) => format!("pages of {base}, no transparent huge pages"),
        Err(_) => format!("pages of {base}, THP settings not known"),
    };
    let place = match &host.hypervisor {
        Some(name) => format!("VM ({name})"),
        None => "no hypervisor found".to_owned(),
    };
    format!("Linux {} {}, {pages}, {place}", host.kernel, host.arch)
}

/// Capabilities that a file can carry without being equivalent to root.
const MODEST: [&str; 3] = ["CAP_PERFMON", "CAP_BPF", "CAP_SYS_NICE"];

/// `setcap` for the capabilities named in refusals, except root-equivalent ones.
fn least_grant(
    ladder: &BTreeMap<Feature, Support<String>>,
    program: Option<&str>,
) -> Option<String> {
    let named: BTreeSet<String> = ladder
        .values()
        .filter_map(|support| match support {
            Support::No {
                missing: Missing::NotPermitted { grant },
            } => Some(grant),
            _ => None,
        })
        .flat_map(|grant| grant.split([' ', ',']))
        .filter(|word| MODEST.contains(word))
        .map(str::to_lowercase)
        .collect();
    if named.is_empty() {
        return None;
    }
    let list = named.into_iter().collect::<Vec<_>>().join(",");
    let safe = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    let program = program.filter(|path| path.chars().all(safe));
    let program = program.unwrap_or("$(command -v hugewise)");
    Some(format!("sudo setcap {list}=ep {program}"))
}

#[cfg(test)]
mod tests;
