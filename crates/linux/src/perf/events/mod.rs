//! The events of each processor family, as data: one file per family.
//!
//! Codes are facts published by the processor vendors, and part of the kernel's tools (tools/perf/pmu-events). Every
//! entry names its source file and the limits of the event, and a test checks every entry against the project's copy of
//! those facts (`fixtures/pmu-events.txt`).
//!
//! To add an event, add an entry with its source to the file of its family, and the fact to `fixtures/pmu-events.txt`.
//! A family is a file and its name in the list below.

use std::sync::LazyLock;

use hugewise_base::facility::Facility;
use hugewise_observe::stat::kind;
use serde::Deserialize;

pub mod processor;
pub mod sources;

use processor::Processor;

/// A family of processors that count the same events with the same codes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Its short name.
    pub name: String,
    /// Its name for users.
    pub title: String,
    /// The event source that identifies it, on machines with several processor types.
    pub pmu: Option<String>,
    /// The processors that belong to it.
    cpu: Cpus,
    /// How it samples the addresses of accesses.
    pub addresses: Addresses,
    /// Its events, the most informative first.
    #[serde(rename = "event")]
    pub events: Vec<Event>,
}

/// The processors that belong to a family.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Cpus {
    /// x86: ranges of models, first and last.
    X86 {
        vendor: String,
        family: u32,
        models: Vec<(u32, u32)>,
    },
    /// Arm: pairs of implementer and part; an empty list matches all parts without an entry in another file.
    Arm { parts: Vec<(u32, u32)> },
}

/// How the processors of a family sample the addresses of misses.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Addresses {
    /// The sampling facility.
    pub means: Facility,
    /// The kinds of the sampled events, loads first, if the facility samples events.
    #[serde(default)]
    pub events: Vec<String>,
    /// Its source file in the kernel.
    pub source: String,
    /// The limits of such a sample.
    pub not: String,
}

/// One event of a family.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The meaning of its count: a name of [`kind::KINDS`].
    pub kind: String,
    /// Its name, as printed by perf list.
    pub name: String,
    event: u64,
    #[serde(default)]
    umask: u64,
    #[serde(default)]
    cmask: u64,
    /// Its source file in the kernel, below tools/perf/pmu-events/arch.
    pub source: String,
    /// Cases not counted by the event.
    pub not: String,
}

impl Event {
    /// Returns `perf_event_attr.config` of a raw event. On x86, event, umask and cmask occupy separate bytes (the upper
    /// part of a long AMD event number starts at bit 32); Arm has one number.
    #[must_use]
    pub fn config(&self, arch: Arch) -> u64 {
        match arch {
            Arch::X86 => {
                (self.event & 0xff)
                    | ((self.event >> 8) << 32)
                    | (self.umask << 8)
                    | (self.cmask << 24)
            }
            Arch::Arm => self.event,
        }
    }

    /// Returns the code in the usual notation.
    #[must_use]
    pub fn code(&self, arch: Arch) -> String {
        let cmask = match self.cmask {
            0 => String::new(),
            cmask => format!(",cmask={cmask}"),
        };
        match arch {
            Arch::X86 => format!(
                "event=0x{:02x},umask=0x{:02x}{cmask}",
                self.event, self.umask
            ),
            Arch::Arm => format!("event=0x{:02x}", self.event),
        }
    }
}

/// The encoding of event codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// x86.
    X86,
    /// Arm.
    Arm,
}

impl Family {
    /// Returns the encoding of its event codes.
    #[must_use]
    pub fn arch(&self) -> Arch {
        match self.cpu {
            Cpus::X86 { .. } => Arch::X86,
            Cpus::Arm { .. } => Arch::Arm,
        }
    }

    fn holds(&self, processor: &Processor) -> bool {
        match (&self.cpu, processor) {
            (
                Cpus::X86 {
                    vendor,
                    family,
                    models,
                },
                Processor::X86 {
                    vendor: v,
                    family: f,
                    model,
                },
            ) => {
                let within = |&(first, last): &(u32, u32)| (first..=last).contains(model);
                vendor == v && family == f && models.iter().any(within)
            }
            (Cpus::Arm { parts }, &Processor::Arm { implementer, part }) => {
                parts.is_empty() || parts.contains(&(implementer, part))
            }
            _ => false,
        }
    }

    /// Returns true if an event is counted by default. Active walks, an upper bound for the cycles, are counted only if
    /// the cycles cannot be counted.
    #[must_use]
    pub fn is_usual(&self, event: &Event) -> bool {
        let stands_in = event
            .kind
            .strip_suffix("_walk_pending")
            .is_some_and(|side| {
                let active = format!("{side}_walk_active");
                !self.events.iter().any(|other| other.kind == active)
            });
        kind::is_usual(&event.kind) || stands_in
    }

    /// Finds an event by its kind, or by its name as printed by perf list, ignoring case.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Event> {
        self.events
            .iter()
            .find(|event| event.kind == name || event.name.eq_ignore_ascii_case(name))
    }
}

macro_rules! files {
    ($($name:literal)*) => { &[$(include_str!(concat!($name, ".toml"))),*] };
}

/// The tables: those of particular families, then the general one.
static FILES: &[&str] = files![
    "haswell" "broadwell" "skylake" "icelake" "sapphirerapids" "graniterapids" "sierraforest"
    "alderlake-core" "alderlake-atom" "zen1" "zen2" "zen3" "zen4" "zen5" "zen6" "neoverse-n1"
    "neoverse-n2-v2" "neoverse-v1" "neoverse-n3" "neoverse-v3" "ampereone" "ampereonex"
    "armv8-pmuv3"
];

/// Every family.
pub static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    let parse = |text: &&str| toml::from_str(text).expect("the tables are part of the program");
    FILES.iter().map(parse).collect()
});

/// Returns the family of a processor behind an event source. Named sources (cpu_core, cpu_atom) distinguish processor
/// types; for all other sources the processor decides.
#[must_use]
pub fn family(processor: &Processor, source: &str) -> Option<&'static Family> {
    let mut held = FAMILIES.iter().filter(|family| family.holds(processor));
    held.find(|family| family.pmu.as_deref().is_none_or(|pmu| pmu == source))
}

#[cfg(test)]
mod tests;
