use super::*;
use crate::stat::Tally;
use proptest::prelude::*;

fn counted(kind: &str, group: u32, value: u64) -> Count {
    timed(kind, group, value, 100)
}

fn timed(kind: &str, group: u32, value: u64, running_ns: u64) -> Count {
    Count {
        kind: kind.to_owned(),
        event: kind.to_uppercase(),
        pmu: "cpu".to_owned(),
        group,
        tally: Tally::Counted {
            value,
            enabled_ns: 100,
            running_ns,
        },
    }
}

fn get(counts: &[Count], name: &str) -> Value {
    match &derive(counts, None)[name] {
        Reading::Value { value } => Ok(*value),
        Reading::Missing { missing } => Err(missing.clone()),
        Reading::Values { .. } | Reading::Histogram { .. } => panic!("{name}"),
    }
}

#[test]
fn a_ratio_is_made_of_its_own_group() {
    // The second group had three times the time of the first; both have 1 walk per 1000.
    let counts = [
        counted(INSTRUCTIONS, 0, 1_000_000),
        counted("dtlb_load_walks", 0, 1000),
        counted(INSTRUCTIONS, 1, 3_000_000),
        counted("dtlb_store_walks", 1, 3000),
    ];
    assert_eq!(get(&counts, "dtlb_walks_per_kinst"), Ok(2.0));
}

#[test]
fn walk_cycles_are_bounded_from_both_sides() {
    let counts = [
        counted(CYCLES, 0, 1000),
        counted("dtlb_load_walk_active", 0, 100),
        counted("dtlb_store_walk_active", 0, 20),
        counted("itlb_walk_active", 0, 5),
    ];
    assert_eq!(get(&counts, "walk_cycles_at_most_ratio"), Ok(0.125));
    assert_eq!(get(&counts, "walk_cycles_at_least_ratio"), Ok(0.1));
    assert_eq!(get(&counts, "code_walk_cycles_ratio"), Ok(0.005));
}

#[test]
fn walks_under_way_are_an_upper_bound_where_cycles_are_not_counted() {
    let counts = [
        counted(CYCLES, 0, 1000),
        counted("dtlb_walk_pending", 0, 1500),
        counted("itlb_walk_pending", 0, 10),
    ];
    assert_eq!(get(&counts, "walk_cycles_at_most_ratio"), Ok(1.0));
    assert!(get(&counts, "walk_cycles_at_least_ratio").is_err());
}

fn on(pmu: &str, count: Count) -> Count {
    Count {
        pmu: pmu.to_owned(),
        ..count
    }
}

/// Alder Lake: the large cores count cycles of walks, and the small ones do not.
#[test]
fn what_large_cores_count_is_not_said_of_small_ones() {
    let counts = |small: u64| {
        let large = [
            "dtlb_load_walk_active",
            "dtlb_store_walk_active",
            "itlb_walk_active",
        ];
        let mut counts: Vec<Count> = large
            .map(|kind| on("cpu_core", counted(kind, 0, 10)))
            .into();
        counts.push(on("cpu_core", counted(CYCLES, 0, 1000)));
        counts.push(on("cpu_atom", counted(CYCLES, 0, small)));
        counts
    };
    let of = |small, name| get(&counts(small), name);
    for unused in [0, 9] {
        assert_eq!(of(unused, "walk_cycles_at_most_ratio"), Ok(0.03));
    }
    for name in [
        "walk_cycles_at_most_ratio",
        "walk_cycles_at_least_ratio",
        "code_walk_cycles_ratio",
    ] {
        let why = of(3000, name).unwrap_err().to_string();
        assert!(
            why.contains("on cpu_atom, where 75 % of the cycles"),
            "{name}: {why}"
        );
    }
    let mut both = counts(3000);
    both.extend(
        [("cpu_core", 1), ("cpu_atom", 5)]
            .map(|(pmu, walks)| on(pmu, counted("itlb_walks", 0, walks))),
    );
    both.extend(["cpu_core", "cpu_atom"].map(|pmu| on(pmu, counted(INSTRUCTIONS, 0, 3000))));
    assert_eq!(get(&both, "itlb_walks_per_kinst"), Ok(1.0));
}

#[test]
fn more_walk_cycles_than_cycles_is_no_share() {
    let counts = [
        counted(CYCLES, 0, 1000),
        counted("dtlb_load_walk_active", 0, 1200),
        counted("dtlb_store_walk_active", 0, 0),
        counted("itlb_walk_active", 0, 0),
    ];
    let why = get(&counts, "walk_cycles_at_most_ratio").unwrap_err();
    assert!(matches!(why, Missing::Unreadable { .. }), "{why}");
}

#[test]
fn a_group_that_never_ran_is_not_zero() {
    let counts = [timed(INSTRUCTIONS, 0, 0, 0), timed("itlb_walks", 0, 0, 0)];
    let why = get(&counts, "itlb_walks_per_kinst");
    assert_eq!(why, Err(Missing::NeverScheduled));
}

#[test]
fn page_sizes_share_one_whole() {
    let mut counts = vec![counted(INSTRUCTIONS, 0, 1000)];
    for (size, walks) in [("4k", 60), ("2m", 20), ("1g", 0)] {
        counts.push(counted(&format!("dtlb_load_walks_{size}"), 0, walks));
        counts.push(counted(&format!("dtlb_store_walks_{size}"), 0, walks));
    }
    assert_eq!(get(&counts, "dtlb_walks_4k_ratio"), Ok(0.75));
    assert_eq!(get(&counts, "dtlb_walks_1g_ratio"), Ok(0.0));
    assert!(get(&counts, "dtlb_walks_small_ratio").is_err());
}

#[test]
fn what_there_is_no_event_for_is_said_by_name() {
    let counts = [counted(CYCLES, 0, 1)];
    let why = get(&counts, "instructions_per_cycle").unwrap_err();
    assert_eq!(
        why.to_string(),
        "not on this machine: an event for instructions"
    );
    let why = get(&counts, "walk_cycles_at_most_ratio").unwrap_err();
    assert!(why.to_string().contains("cycles of page walks"), "{why}");
    let walks = [counted(CYCLES, 0, 1), counted("dtlb_walks", 0, 1)];
    let why = get(&walks, "dtlb_walks_per_kinst").unwrap_err();
    assert!(why.to_string().contains("instructions"), "{why}");
    let none = derive(&[], Some(&Missing::NoHardware));
    assert!(
        none.values()
            .all(|one| *one == Reading::missing(Missing::NoHardware))
    );
}

proptest! {
    #[test]
    fn no_share_is_over_a_hundred_percent(
        values in prop::collection::vec((0_usize..crate::stat::kind::KINDS.len(), 0_u32..3, any::<u64>(), any::<u64>()), 0..60),
    ) {
        let mut counts: Vec<Count> = Vec::new();
        for (kind, group, value, running) in values {
            let count = timed(crate::stat::kind::KINDS[kind].name, group, value, running);
            crate::stat::add_counts(&mut counts, &[count]);
        }
        for (name, reading) in derive(&counts, None) {
            if let Reading::Value { value } = reading {
                prop_assert!(value.is_finite() && value >= 0.0, "{name} {value}");
                prop_assert!(!name.ends_with("_ratio") || value <= 1.0, "{name} {value}");
            }
        }
    }
}
