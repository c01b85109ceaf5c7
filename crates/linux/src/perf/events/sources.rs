//! The event sources of a machine that belong to its processors.

use std::collections::BTreeSet;

use super::processor::{Processor, read_processors};
use super::{Arch, Event, Family, family};
use crate::machine::error::Result;
use crate::machine::number;
use crate::machine::root::Root;
use crate::perf::open::RAW;
use crate::sys::cpu;

const DEVICES: &str = "sys/bus/event_source/devices";

/// An event source.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// `perf_event_attr.type` of its events.
    pub number: u32,
    /// False if the machine has several sources, so that general events must name theirs.
    pub alone: bool,
    /// The event table of its processors, if known.
    pub family: Option<&'static Family>,
    /// The codes of the events that the kernel lists for it, if any.
    pub listed: BTreeSet<u64>,
}

impl Source {
    /// Returns true if the processor does not have an event. An Arm processor reports which of the first 64 events it
    /// has (PMCEID), and the kernel lists those; any other event can be opened too, but always counts 0
    /// (drivers/perf/arm_pmuv3.c).
    #[must_use]
    pub fn lacks(&self, event: &Event) -> bool {
        const TOLD: u64 = 0x40;
        let arm = self.family.map(Family::arch) == Some(Arch::Arm);
        let number = event.config(Arch::Arm);
        arm && number < TOLD && !self.listed.is_empty() && !self.listed.contains(&number)
    }
}

/// Returns the event sources of the processors: `cpu` on most x86 machines, `cpu_core` and `cpu_atom` on those with two
/// processor types, and one `armv8_…` per type on Arm.
///
/// If none is listed (a container may hide them), the kernel's default source is named `cpu`; perf_event_open decides
/// whether it exists.
///
/// # Errors
/// `/proc/cpuinfo` could not be read.
pub fn read_sources(root: &Root) -> Result<Vec<Source>> {
    let processors = read_processors(root)?;
    let names = root.list(DEVICES).unwrap_or_default();
    let mut found: Vec<Source> = names
        .into_iter()
        .filter(|name| is_of_processors(name))
        .filter_map(|name| {
            let number = number::read(root, format!("{DEVICES}/{name}/type")).ok()?;
            let processor = behind(root, &name, &processors);
            Some(Source {
                number: u32::try_from(number).ok()?,
                alone: true,
                family: family(&processor, &name),
                listed: listed(root, &name),
                name,
            })
        })
        .collect();
    if found.is_empty() {
        let processor = processors.first().map_or(&Processor::Other, |(_, one)| one);
        found.push(Source {
            name: "cpu".to_owned(),
            number: RAW,
            alone: true,
            family: family(processor, "cpu"),
            listed: BTreeSet::new(),
        });
    }
    let alone = found.len() == 1;
    for source in &mut found {
        source.alone = alone;
    }
    Ok(found)
}

fn is_of_processors(name: &str) -> bool {
    matches!(name, "cpu" | "cpu_core" | "cpu_atom" | "cpu_lowpower") || name.starts_with("armv")
}

/// Returns the codes of the events of a source, from files with content such as `event=0x0011`.
fn listed(root: &Root, name: &str) -> BTreeSet<u64> {
    let folder = format!("{DEVICES}/{name}/events");
    let names = root.list(&folder).unwrap_or_default();
    names
        .iter()
        .filter_map(|event| {
            let text = root.read_trimmed(format!("{folder}/{event}")).ok()?;
            let hex = text.strip_prefix("event=0x")?;
            u64::from_str_radix(hex, 16).ok()
        })
        .collect()
}

/// Returns the processors of a source, from its files `cpus` or `cpumask`; empty if all belong to it.
#[must_use]
pub fn members(root: &Root, name: &str) -> BTreeSet<u32> {
    let lists = ["cpus", "cpumask"].map(|file| format!("{DEVICES}/{name}/{file}"));
    lists
        .iter()
        .filter_map(|path| cpu::parse_members(&root.read(path).ok()?).ok())
        .flatten()
        .collect()
}

/// Returns a processor of the source.
fn behind(root: &Root, name: &str, processors: &[(u32, Processor)]) -> Processor {
    let members = members(root, name);
    processors
        .iter()
        .find(|(number, _)| members.is_empty() || members.contains(number))
        .map_or(Processor::Other, |(_, one)| one.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;

    fn told(root: &Root) -> Vec<(String, u32, Option<&'static str>)> {
        let sources = read_sources(root).unwrap();
        let one = |s: Source| {
            (
                s.name,
                s.number,
                s.family.map(|family| family.name.as_str()),
            )
        };
        sources.into_iter().map(one).collect()
    }

    #[test]
    fn two_sorts_of_processors_are_two_sources() {
        let (_folder, root) = machine_of(&[
            (
                "proc/cpuinfo",
                "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 151\n",
            ),
            ("sys/bus/event_source/devices/cpu_core/type", "4\n"),
            ("sys/bus/event_source/devices/cpu_core/cpus", "0-15\n"),
            ("sys/bus/event_source/devices/cpu_atom/type", "10\n"),
            ("sys/bus/event_source/devices/cpu_atom/cpus", "0\n"),
            ("sys/bus/event_source/devices/uncore_imc/type", "12\n"),
        ]);
        assert_eq!(
            told(&root),
            [
                ("cpu_atom".to_owned(), 10, Some("alderlake-atom")),
                ("cpu_core".to_owned(), 4, Some("alderlake-core")),
            ]
        );
        assert!(
            read_sources(&root)
                .unwrap()
                .iter()
                .all(|source| !source.alone)
        );
    }

    #[test]
    fn sorts_of_arm_processors_are_told_by_their_numbers() {
        let (_folder, root) = machine_of(&[
            (
                "proc/cpuinfo",
                "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n\n\
                 processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
            ),
            ("sys/bus/event_source/devices/armv8_cortex_a53/type", "8\n"),
            ("sys/bus/event_source/devices/armv8_cortex_a53/cpus", "0\n"),
            ("sys/bus/event_source/devices/armv8_neoverse_n1/type", "9\n"),
            ("sys/bus/event_source/devices/armv8_neoverse_n1/cpus", "1\n"),
        ]);
        assert_eq!(
            told(&root),
            [
                ("armv8_cortex_a53".to_owned(), 8, Some("armv8-pmuv3")),
                ("armv8_neoverse_n1".to_owned(), 9, Some("neoverse-n1")),
            ]
        );
    }

    #[test]
    fn an_arm_processor_tells_which_events_it_has() {
        let pmu = "sys/bus/event_source/devices/armv8_pmuv3";
        let (_folder, root) = machine_of(&[
            (
                "proc/cpuinfo",
                "processor\t: 0\nCPU implementer\t: 0x00\nCPU part\t: 0x051\n",
            ),
            (&format!("{pmu}/type"), "8\n"),
            (&format!("{pmu}/events/cpu_cycles"), "event=0x0011\n"),
            (&format!("{pmu}/events/dtlb_walk"), "event=0x0034\n"),
        ]);
        let source = read_sources(&root).unwrap().remove(0);
        let event = |name: &str| source.family.unwrap().find(name).unwrap();
        assert!(!source.lacks(event("DTLB_WALK")));
        assert!(source.lacks(event("ITLB_WALK")));
        let silent = Source {
            listed: BTreeSet::new(),
            ..source.clone()
        };
        assert!(!silent.lacks(event("ITLB_WALK")));
    }

    #[test]
    fn where_none_is_listed_the_kernel_decides() {
        let (_folder, root) = machine_of(&[("proc/cpuinfo", "processor\t: 0\nuarch\t: x\n")]);
        assert_eq!(told(&root), [("cpu".to_owned(), 4, None)]);
    }
}
