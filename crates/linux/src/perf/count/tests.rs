use hugewise_observe::stat::Mode;

use super::super::open::{Guests, HARDWARE};
use super::super::table::Table;
use super::*;

fn event(kind: &str, config: u64) -> Chosen {
    Chosen {
        kind: kind.to_owned(),
        event: kind.to_uppercase(),
        code: Code {
            source: HARDWARE,
            config,
        },
    }
}

fn plan(groups: Vec<Vec<Chosen>>) -> Plan {
    Plan {
        permitted: Permitted {
            mode: Mode::UserAndKernel,
            guests: Guests::Excluded,
        },
        sources: vec![SourceGroups {
            name: "cpu".to_owned(),
            family: None,
            groups,
        }],
        refused: Vec::new(),
    }
}

fn attach(
    table: &Table,
    groups: Vec<Vec<Chosen>>,
    target: &CountScope,
) -> Result<Counters, Missing> {
    Counters::attach(table, plan(groups), target, &Grants::unknown())
}

fn value(counts: &[Count], kind: &str, group: u32) -> Result<u64, Missing> {
    let found = counts.iter().find(|c| c.kind == kind && c.group == group);
    match &found.unwrap().tally {
        Tally::Counted { value, .. } => Ok(*value),
        Tally::Missing { missing } => Err(missing.clone()),
    }
}

fn two_groups() -> Vec<Vec<Chosen>> {
    vec![
        vec![event("cycles", 0), event("a", 1)],
        vec![event("cycles", 0), event("b", 2)],
    ]
}

#[test]
fn only_one_group_counts_at_a_time() {
    let table = Table::with_counters(4);
    let mut counters = attach(&table, two_groups(), &CountScope::Tasks(vec![1])).unwrap();
    let counts = counters.collect();
    assert_eq!(value(&counts, "a", 0), Ok(1000));
    assert_eq!(value(&counts, "b", 1), Err(Missing::NotItsTurn));
    counters.next_turn();
    let counts = counters.collect();
    // The counts of the first group before it was switched off are not lost.
    assert_eq!(value(&counts, "a", 0), Ok(1000));
    assert_eq!(value(&counts, "b", 1), Ok(1000));
    let leader = event("cycles", 0).code;
    assert_eq!(
        *table.log.borrow(),
        [
            (leader, Switch::On),
            (leader, Switch::Off),
            (leader, Switch::On)
        ]
    );
}

/// Small cores have fewer events than large ones, and therefore fewer groups.
#[test]
fn a_source_with_one_group_counts_in_every_turn() {
    let table = Table::with_counters(4);
    let mut plan = plan(two_groups());
    plan.sources.push(SourceGroups {
        name: "cpu_atom".to_owned(),
        family: None,
        groups: vec![vec![event("cycles", 0), event("small", 3)]],
    });
    let task = CountScope::Tasks(vec![1]);
    let mut counters = Counters::attach(&table, plan, &task, &Grants::unknown()).unwrap();
    counters.next_turn();
    counters.collect();
    let counts = counters.collect();
    assert_eq!(value(&counts, "a", 0), Err(Missing::NotItsTurn));
    assert_eq!(value(&counts, "b", 1), Ok(1000));
    assert_eq!(value(&counts, "small", 0), Ok(1000));
}

#[test]
fn threads_are_summed_and_those_that_ended_are_left_out() {
    let table = Table {
        ended: [2].into(),
        ..Table::with_counters(4)
    };
    let group = vec![vec![event("cycles", 0)]];
    let mut counters = attach(&table, group.clone(), &CountScope::Tasks(vec![1, 2, 3])).unwrap();
    assert_eq!(value(&counters.collect(), "cycles", 0), Ok(2000));
    let gone = attach(&table, group, &CountScope::Tasks(vec![2])).err();
    assert_eq!(gone, Some(Missing::TooShort));
}

#[test]
fn a_counter_that_goes_backwards_says_nothing() {
    // Its times continue to grow: only the value reveals the error.
    let says = |value, ns| RawCount {
        value,
        enabled_ns: ns,
        running_ns: ns,
    };
    let code = event("cycles", 0).code;
    let table = Table {
        says: [(code, vec![says(500, 500), says(400, 1000), says(450, 1500)])].into(),
        ..Table::with_counters(4)
    };
    let group = vec![vec![event("cycles", 0)]];
    let mut counters = attach(&table, group, &CountScope::Cpus(vec![0])).unwrap();
    assert_eq!(value(&counters.collect(), "cycles", 0), Ok(500));
    let why = value(&counters.collect(), "cycles", 0).unwrap_err();
    assert_eq!(
        why.to_string(),
        "unreadable: CYCLES went backwards, from 500 to 400"
    );
    assert_eq!(value(&counters.collect(), "cycles", 0), Ok(50));
}

#[test]
fn what_was_never_on_the_hardware_is_told_by_its_times() {
    let table = Table {
        fixed: false,
        reserved: 4,
        ..Table::with_counters(4)
    };
    let group = vec![vec![event("cycles", 0), event("instructions", 1)]];
    let mut counters = attach(&table, group, &CountScope::Cpus(vec![0])).unwrap();
    let counts = counters.collect();
    let derived = hugewise_observe::stat::derive(&counts, None);
    let missing = hugewise_experiment::run::trial::Reading::missing(Missing::NeverScheduled);
    assert_eq!(derived["instructions_per_cycle"], missing);
}

#[test]
fn a_refused_machine_names_its_own_grant() {
    let table = Table {
        kernel_permitted: false,
        ..Table::with_counters(4)
    };
    let group = vec![vec![event("cycles", 0)]];
    let why = attach(&table, group, &CountScope::Cpus(vec![0]))
        .err()
        .unwrap();
    assert!(matches!(&why, Missing::NotPermitted { grant } if grant.contains("CAP_PERFMON")));
}

#[test]
fn a_trial_counts_one_group_and_the_next_one_another() {
    let plan = plan(two_groups());
    assert_eq!(plan.turns(), 2);
    let kinds = |turn| plan.only(turn).pmus()[0].groups.clone();
    assert_eq!(kinds(0), [["cycles", "a"]]);
    assert_eq!(kinds(3), [["cycles", "b"]]);
}
