//! The events of each processor family, as data: one file per family.
//!
//! Codes are facts of the processors' makers, kept by the kernel for its own tools
//! (tools/perf/pmu-events). Every entry names the file it was taken from and says what the event
//! leaves out, and a test holds every entry against the project's copy of those facts
//! (`fixtures/pmu-events.txt`).
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

/// A family of processors that count the same events by the same codes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Its short name.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// The event source that identifies it, where a machine has several sorts of processors.
    pub pmu: Option<String>,
    /// Which processors belong to it.
    cpu: Cpus,
    /// How it samples the addresses that accesses go to.
    pub addresses: Addresses,
    /// What it counts, the most telling events first.
    #[serde(rename = "event")]
    pub events: Vec<Event>,
}

/// Which processors belong to a family.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Cpus {
    /// x86: ranges of models, first and last.
    X86 {
        vendor: String,
        family: u32,
        models: Vec<(u32, u32)>,
    },
    /// Arm: pairs of implementer and part; none means all that no other file knows.
    Arm { parts: Vec<(u32, u32)> },
}

/// How the processors of a family sample the addresses of misses.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Addresses {
    /// By which means.
    pub means: Facility,
    /// The kinds of event that are sampled, loads first, where the means samples events.
    #[serde(default)]
    pub events: Vec<String>,
    /// The file of the kernel that it was taken from.
    pub source: String,
    /// What such a sample does not mean.
    pub not: String,
}

/// One event of a family.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// What it counts: a name of [`kind::KINDS`].
    pub kind: String,
    /// Its name, as perf list prints it.
    pub name: String,
    event: u64,
    #[serde(default)]
    umask: u64,
    #[serde(default)]
    cmask: u64,
    /// The file of the kernel it was taken from, below tools/perf/pmu-events/arch.
    pub source: String,
    /// What the event does not count.
    pub not: String,
}

impl Event {
    /// `perf_event_attr.config` of a raw event. On x86 event, umask and cmask have bytes of their
    /// own (the upper part of a long AMD event number lies from bit 32 on); Arm has one number.
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

    /// The code as people write it.
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

/// How event codes are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// x86.
    X86,
    /// Arm.
    Arm,
}

impl Family {
    /// How its event codes are encoded.
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

    /// Whether an event is counted when nobody asks for more. Walks under way, which bound the
    /// cycles from above, are wanted only where the cycles themselves cannot be counted.
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

    /// An event by its kind, or by its name as perf list prints it, in any case of letters.
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

/// The tables, those of single families before the general one.
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

/// The family of a processor behind an event source. Sources with names of their own (cpu_core,
/// cpu_atom) tell sorts of processors apart; any other source goes by the processor alone.
#[must_use]
pub fn family(processor: &Processor, source: &str) -> Option<&'static Family> {
    let mut held = FAMILIES.iter().filter(|family| family.holds(processor));
    held.find(|family| family.pmu.as_deref().is_none_or(|pmu| pmu == source))
}

#[cfg(test)]
mod tests;
