use std::collections::BTreeSet;

use hugewise_observe::stat::Mode;

use super::super::events::processor::Processor;
use super::super::events::{Family, family};
use super::super::table::Table;
use super::*;
use crate::perf::open::Guests;

fn skylake() -> Source {
    let processor = Processor::X86 {
        vendor: "GenuineIntel".to_owned(),
        family: 6,
        model: 0x55,
    };
    Source {
        name: "cpu".to_owned(),
        number: 4,
        alone: true,
        family: family(&processor, "cpu"),
        listed: BTreeSet::new(),
    }
}

fn usual(family: &Family) -> Vec<&Event> {
    let events = family.events.iter();
    events.filter(|event| family.is_usual(event)).collect()
}

fn fitted(table: &Table) -> Fitted {
    let source = skylake();
    let grants = Grants::unknown();
    let cycles = general(&source)[0].code;
    let permitted = permitted(table, cycles, None, &grants).unwrap();
    let wanted = usual(source.family.unwrap());
    fit(table, &source, permitted, &wanted, &grants)
}

fn kinds(group: &[Chosen]) -> Vec<&str> {
    group.iter().map(|event| event.kind.as_str()).collect()
}

#[test]
fn four_counters_hold_the_data_side_in_one_group() {
    let fitted = fitted(&Table::with_counters(4));
    assert_eq!(
        kinds(&fitted.groups[0]),
        [
            CYCLES,
            INSTRUCTIONS,
            "dtlb_load_walks",
            "dtlb_store_walks",
            "dtlb_load_walk_active",
            "dtlb_store_walk_active"
        ]
    );
    assert!(kinds(&fitted.groups[1]).starts_with(&[CYCLES, INSTRUCTIONS, "itlb_walks"]));
    assert_eq!(fitted.refused, []);
}

#[test]
fn a_counter_that_the_watchdog_holds_is_not_relied_on() {
    let table = Table {
        reserved: 1,
        ..Table::with_counters(4)
    };
    let fitted = fitted(&table);
    assert!(fitted.groups.iter().all(|group| group.len() <= 2 + 3));
    let all: Vec<&str> = fitted
        .groups
        .iter()
        .flat_map(|group| kinds(group))
        .collect();
    assert!(all.contains(&"itlb_walk_active") && all.contains(&"dtlb_store_walks_2m"));
}

#[test]
fn without_room_for_ratios_events_are_counted_alone() {
    let table = Table {
        fixed: false,
        ..Table::with_counters(1)
    };
    let fitted = fitted(&table);
    assert!(fitted.groups.iter().all(|group| group.len() == 1));
    assert!(
        fitted
            .groups
            .iter()
            .any(|group| kinds(group) == ["dtlb_load_walks"])
    );
}

#[test]
fn an_event_that_is_not_there_is_refused_by_name() {
    let absent = skylake().family.unwrap().find("itlb_walks").unwrap();
    let table = Table {
        absent: vec![Code {
            source: 4,
            config: absent.config(Arch::X86),
        }],
        ..Table::with_counters(4)
    };
    let fitted = fitted(&table);
    let [refused] = &fitted.refused[..] else {
        panic!("{:?}", fitted.refused)
    };
    assert_eq!(refused.event, "ITLB_MISSES.WALK_COMPLETED");
    assert!(matches!(refused.missing, Missing::NotSupported { .. }));
}

/// The emulated PMU of QEMU's Arm machine has cycles and no instructions.
#[test]
fn cycles_alone_are_still_counted() {
    let instructions = general(&skylake())[1].code;
    let table = Table {
        absent: vec![instructions],
        ..Table::with_counters(4)
    };
    let source = Source {
        family: None,
        ..skylake()
    };
    let permitted = Permitted {
        mode: Mode::UserAndKernel,
        guests: Guests::Unasked,
    };
    let fitted = fit(&table, &source, permitted, &[], &Grants::unknown());
    assert_eq!(fitted.groups.len(), 1);
    assert_eq!(kinds(&fitted.groups[0]), [CYCLES]);
    assert_eq!(fitted.refused[0].kind, INSTRUCTIONS);
}

#[test]
fn a_refusal_does_not_hide_that_there_is_nothing() {
    let grants = Grants::unknown();
    let cycles = general(&skylake())[0].code;
    let nothing = Table {
        kernel_permitted: false,
        absent: vec![cycles],
        ..Table::with_counters(4)
    };
    let said = permitted(&nothing, cycles, None, &grants);
    assert_eq!(said, Err(Missing::NoHardware));
    let said = permitted(&nothing, cycles, Some(Mode::Kernel), &grants);
    assert_eq!(said, Err(Missing::NoHardware));
    let user = Table {
        kernel_permitted: false,
        ..Table::with_counters(4)
    };
    let said = permitted(&user, cycles, None, &grants).unwrap();
    assert_eq!(said.mode, Mode::User);
    let said = permitted(&user, cycles, Some(Mode::Kernel), &grants);
    assert!(matches!(said, Err(Missing::NotPermitted { .. })));
    let shut = Table {
        kernel_permitted: false,
        user_permitted: false,
        ..Table::with_counters(4)
    };
    let said = permitted(&shut, cycles, None, &grants);
    assert!(matches!(said, Err(Missing::NotPermitted { .. })));
}

#[test]
fn a_source_that_does_not_know_guests_is_not_asked_for_them() {
    let cycles = general(&skylake())[0].code;
    let table = Table {
        knows_guests: false,
        ..Table::with_counters(4)
    };
    let said = permitted(&table, cycles, None, &Grants::unknown()).unwrap();
    assert_eq!(said.guests, Guests::Unasked);
}
