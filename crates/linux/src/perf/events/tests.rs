use std::collections::{BTreeMap, BTreeSet};

use super::*;

const FACTS: &str = include_str!("../../../../../fixtures/pmu-events.txt");

type Key = (String, String, Option<String>);

/// Event, umask and cmask by file, name and PMU.
fn facts() -> BTreeMap<Key, (u64, u64, u64)> {
    let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let lines = FACTS.lines().filter(|line| !line.starts_with('#'));
    let parsed = lines.map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let find = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
        let cmask = find("cmask=").map_or(0, |text| text.parse().unwrap());
        let pmu = find("pmu=").map(str::to_owned);
        let key = (words[0].to_owned(), words[1].to_owned(), pmu);
        (key, (hex(words[2]), hex(words[3]), cmask))
    });
    parsed.collect()
}

#[test]
fn every_entry_is_what_the_facts_say() {
    let facts = facts();
    assert_eq!(facts.len(), 587);
    let mut checked = 0;
    for family in FAMILIES.iter() {
        for event in &family.events {
            let key = (event.source.clone(), event.name.clone(), family.pmu.clone());
            let code = (event.event, event.umask, event.cmask);
            assert_eq!(
                facts.get(&key),
                Some(&code),
                "{}: {}",
                family.name,
                event.name
            );
            checked += 1;
        }
    }
    assert!(checked > 380, "{checked}");
}

#[test]
fn entries_are_told_once_and_say_what_they_do_not_mean() {
    let mut names = BTreeSet::new();
    let mut used = BTreeSet::new();
    for family in FAMILIES.iter() {
        assert!(names.insert(&family.name), "{} twice", family.name);
        let mut kinds = BTreeSet::new();
        for event in &family.events {
            let place = format!("{}: {}", family.name, event.name);
            assert!(kind::find(&event.kind).is_some(), "{place}: {}", event.kind);
            assert!(kinds.insert(&event.kind), "{place}: {} twice", event.kind);
            assert!(event.not.len() > 20 && event.not.ends_with('.'), "{place}");
            used.insert(event.kind.as_str());
        }
        assert!(family.events.iter().any(|event| family.is_usual(event)));
    }
    let always = [kind::CYCLES, kind::INSTRUCTIONS];
    for kind in kind::KINDS
        .iter()
        .filter(|kind| !always.contains(&kind.name))
    {
        assert!(used.contains(kind.name), "{} is no event's", kind.name);
    }
}

#[test]
fn every_family_says_how_addresses_are_sampled() {
    for family in FAMILIES.iter() {
        let addresses = &family.addresses;
        let place = &family.name;
        let (arch, events) = match addresses.means {
            Facility::Pebs => (Arch::X86, 2),
            Facility::Ibs => (Arch::X86, 0),
            Facility::Spe => (Arch::Arm, 0),
        };
        assert_eq!(family.arch(), arch, "{place}");
        assert_eq!(addresses.events.len(), events, "{place}");
        for kind in &addresses.events {
            assert!(family.find(kind).is_some(), "{place}: {kind}");
        }
        assert!(
            addresses.not.len() > 20 && addresses.not.ends_with('.'),
            "{place}"
        );
    }
}

fn x86(vendor: &str, family: u32, model: u32) -> Processor {
    Processor::X86 {
        vendor: vendor.to_owned(),
        family,
        model,
    }
}

#[test]
fn processors_find_their_families() {
    let name = |processor: Processor, source: &str| {
        family(&processor, source).map(|family| family.name.as_str())
    };
    let intel = |model| x86("GenuineIntel", 6, model);
    assert_eq!(name(intel(0x3f), "cpu"), Some("haswell"));
    assert_eq!(name(intel(0x55), "cpu"), Some("skylake"));
    assert_eq!(name(intel(0xcf), "cpu"), Some("sapphirerapids"));
    assert_eq!(name(intel(0x97), "cpu_core"), Some("alderlake-core"));
    assert_eq!(name(intel(0x97), "cpu_atom"), Some("alderlake-atom"));
    assert_eq!(name(intel(0x2a), "cpu"), None);
    let amd = |family, model| x86("AuthenticAMD", family, model);
    assert_eq!(name(amd(23, 0x01), "cpu"), Some("zen1"));
    assert_eq!(name(amd(23, 0x31), "cpu"), Some("zen2"));
    assert_eq!(name(amd(25, 0x01), "cpu"), Some("zen3"));
    assert_eq!(name(amd(25, 0x11), "cpu"), Some("zen4"));
    assert_eq!(name(amd(25, 0x21), "cpu"), Some("zen3"));
    assert_eq!(name(amd(26, 0x02), "cpu"), Some("zen5"));
    let arm = |implementer, part| Processor::Arm { implementer, part };
    assert_eq!(name(arm(0x41, 0xd0c), "armv8_pmuv3_0"), Some("neoverse-n1"));
    assert_eq!(
        name(arm(0x6d, 0xd49), "armv8_pmuv3_0"),
        Some("neoverse-n2-v2")
    );
    assert_eq!(name(arm(0x00, 0x051), "armv8_pmuv3"), Some("armv8-pmuv3"));
}

#[test]
fn codes_are_put_together_as_the_kernel_wants_them() {
    let skylake = family(&x86("GenuineIntel", 6, 0x55), "cpu").unwrap();
    let active = skylake.find("dtlb_load_misses.walk_active").unwrap();
    assert_eq!(active.kind, "dtlb_load_walk_active");
    assert_eq!(active.config(Arch::X86), 0x0100_1008);
    assert_eq!(active.code(Arch::X86), "event=0x08,umask=0x10,cmask=1");
    let zen4 = family(&x86("AuthenticAMD", 25, 0x11), "cpu").unwrap();
    assert_eq!(zen4.find("dtlb_walks").unwrap().config(Arch::X86), 0xf045);
    let arm = Processor::Arm {
        implementer: 0x41,
        part: 0xd83,
    };
    let v3 = family(&arm, "armv8_pmuv3_0").unwrap();
    assert_eq!(
        v3.find("DTLB_WALK_PERCYC").unwrap().config(Arch::Arm),
        0x8128
    );
    assert!(v3.is_usual(v3.find("dtlb_walk_pending").unwrap()));
    assert!(!skylake.is_usual(skylake.find("dtlb_load_walk_pending").unwrap()));
}
