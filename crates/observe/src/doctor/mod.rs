//! What can be measured on this machine, what misleads, and which settings are wrong.
//!
//! Facts first ([`Examination`](crate::doctor::Examination), filled in by `hugewise-linux`),
//! then rules ([`diagnose`](crate::doctor::diagnose)).
//! Every remark names evidence that was read on this machine.

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

pub use ladder::{Feature, Step, step};

/// The answer of a probe. `Yes` and `No` are certain.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum Support<T> {
    /// It works.
    Yes {
        /// What was found.
        found: T,
    },
    /// It cannot work, and why.
    No {
        /// The reason, with the least grant that would help.
        missing: Missing,
    },
    /// The attempt failed in a way that proves nothing.
    Unknown {
        /// What was tried, and what the kernel said.
        error: String,
    },
}

impl<T> Support<T> {
    /// Whether it works.
    #[must_use]
    pub fn is_yes(&self) -> bool {
        matches!(self, Self::Yes { .. })
    }
}

/// All that was read and tried on one machine.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Examination {
    /// The machine.
    pub host: Host,
    /// What each probe answered, with a detail worth showing (may be empty).
    pub ladder: BTreeMap<Feature, Support<String>>,
    /// Facts that only the doctor needs.
    pub facts: Facts,
}

/// Facts beside the [`Host`]; `None` is "this kernel does not say".
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Facts {
    /// `SwapTotal` less `SwapFree`, in bytes.
    pub swap_used_bytes: Option<u64>,
    /// `MemAvailable`, in bytes.
    pub available_bytes: Option<u64>,
    /// Memory in use in the cgroup level that has the smallest limit, in bytes.
    pub cgroup_used_bytes: Option<u64>,
    /// Folder of that level, relative to the root of the machine.
    pub cgroup_folder: Option<String>,
    /// Share of the processors' time since boot that the hypervisor took away (0 to 1).
    pub steal_share: Option<f64>,
    /// `shrink_underused` (Linux 6.12).
    pub shrink_underused: Option<bool>,
    /// `hugepages-<N>kB/shmem_enabled` by N in KiB (Linux 6.11).
    #[serde(with = "number_keys")]
    pub shmem_sizes: BTreeMap<u64, String>,
    /// `GLIBC_TUNABLES` of the environment that programs here inherit.
    pub glibc_tunables: Option<String>,
    /// Whether the THP files are on a mount that nobody here can write.
    pub thp_read_only: Option<bool>,
    /// `/proc/sys/kernel/perf_event_paranoid`.
    pub perf_event_paranoid: Option<i64>,
    /// Path of the running program, which is the one to give capabilities.
    pub program: Option<String>,
    /// Whether capabilities of a file give nothing (`PR_SET_NO_NEW_PRIVS`), as in many containers.
    pub no_new_privileges: bool,
}

/// The kind and version of the JSON document.
pub const FORMAT: &str = "hugewise-diagnosis 1";

/// What the doctor says.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    /// [`FORMAT`].
    pub format: String,
    /// The machine in one line.
    pub machine: String,
    /// What can be measured and changed here, the least demanding first.
    #[serde(rename = "rungs")]
    pub features: Vec<FeatureReport>,
    /// Policies of huge pages, and how `run` reaches them here; empty where nobody asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicyReport>,
    /// Processes in a state that breaks or kills programs; empty where nobody asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaking: Vec<BreakingState>,
    /// What misleads measurements on this machine.
    pub hazards: Vec<Remark>,
    /// Settings that are wrong, contradict each other, or do not do what is often believed.
    pub settings: Vec<Remark>,
    /// The command that grants the fewest capabilities for all that a capability enables.
    pub least_grant: Option<String>,
}

/// One feature and whether it works.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct FeatureReport {
    /// Which one.
    #[serde(rename = "rung")]
    pub feature: Feature,
    /// Its name for people.
    pub title: String,
    /// What the probe answered.
    pub support: Support<String>,
    /// What it needs; `None` where it works or nothing would help.
    pub remedy: Option<String>,
    /// What is lost without it, as a noun phrase.
    pub loss: String,
}

/// A policy, and whether it can be tried here.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct PolicyReport {
    /// As it is typed: `thp=always`.
    pub policy: String,
    /// By which means it is reached: `a tracer`; `None` where it is not.
    pub means: Option<String>,
    /// What stands in the way, and what would help; empty where nothing does.
    pub obstacles: Vec<String>,
}

/// A process in a state that breaks or kills programs, by a rule of `advise`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct BreakingState {
    /// Its number; none for the machine.
    pub pid: Option<u32>,
    /// What it is called.
    pub program: String,
    /// Name of the rule.
    pub rule: String,
    /// What to do: a sentence.
    pub remedy: String,
    /// What happens else: sentences.
    pub meaning: String,
}

impl BreakingState {
    /// Name and number for people.
    #[must_use]
    pub fn who(&self) -> String {
        match self.pid {
            Some(pid) => format!("{} ({pid})", self.program),
            None => self.program.clone(),
        }
    }
}

/// Evidence, what it means, and what to do.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Remark {
    /// Stable name, for scripts.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was read.
    pub evidence: Vec<Evidence>,
    /// What it means.
    pub meaning: String,
    /// What to do; empty where nothing can be done.
    pub remedy: String,
}

/// How much a [`Remark`] matters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A setting has no effect, or not the one that it names.
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

/// A rule: a remark on the examination, or none.
type Rule = fn(&Examination) -> Option<Remark>;

/// Applies every rule; the gravest remarks first.
#[must_use]
pub fn diagnose(examination: &Examination) -> Diagnosis {
    Diagnosis {
        format: FORMAT.to_owned(),
        machine: machine(&examination.host),
        features: ladder::report(&examination.ladder),
        policies: Vec::new(),
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

/// The machine in one line.
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

/// Capabilities that a file may carry without being as good as root.
const MODEST: [&str; 3] = ["CAP_PERFMON", "CAP_BPF", "CAP_SYS_NICE"];

/// `setcap` for the capabilities that refusals named, without root and its equals.
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
