//! A sample observation for tests: the values of a Skylake with four counters.

use std::collections::BTreeMap;

use super::kind::{CYCLES, INSTRUCTIONS};
use super::{
    Count, Hardware, Header, Interval, Mode, Pmu, Refused, Tally, Target, WalkCycles, derive,
};
use hugewise_base::missing::Missing;
use hugewise_base::verification::Verification;
use hugewise_experiment::run::metric::Scope;
use hugewise_experiment::run::trial::Reading;

pub(super) fn header() -> Header {
    Header {
        program: "hugewise test".to_owned(),
        started_unix_ms: 1_795_239_959_000,
        kernel: "6.18.0".to_owned(),
        arch: "x86_64".to_owned(),
        cpu_model: "Skylake".to_owned(),
        page_bytes: 4096,
        huge_bytes: Some(2 << 20),
        target: Target::Process {
            pid: 4711,
            comm: "mysqld".to_owned(),
        },
        interval_ns: 1_000_000_000,
        hardware: hardware(),
        scopes: BTreeMap::from([
            ("minor_faults_total".to_owned(), Scope::Tree),
            ("thp_fault_alloc_total".to_owned(), Scope::Machine),
        ]),
        notes: vec!["the watchdog holds one counter of each processor".to_owned()],
    }
}

fn hardware() -> Hardware {
    let group = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect();
    Hardware::Counting {
        mode: Mode::UserAndKernel,
        pmus: vec![Pmu {
            name: "cpu".to_owned(),
            family: Some("skylake".to_owned()),
            groups: vec![
                group(&[
                    CYCLES,
                    INSTRUCTIONS,
                    "dtlb_load_walks",
                    "dtlb_load_walk_active",
                ]),
                group(&[CYCLES, INSTRUCTIONS, "itlb_walks", "itlb_walk_active"]),
            ],
        }],
        turn_ns: 50_000_000,
        walk_cycles: WalkCycles::Whole,
        verification: Verification::default(),
        refused: vec![Refused {
            kind: "ept_walk_cycles".to_owned(),
            event: "EPT.WALK_PENDING".to_owned(),
            missing: Missing::not_supported("this event on this processor"),
        }],
    }
}

pub(super) fn interval(index: u64) -> Interval {
    let counts = counts();
    let readings = [
        ("minor_faults_total", 1234.0),
        ("major_faults_total", 3.0),
        ("thp_fault_alloc_total", 41.0),
        ("thp_fault_fallback_total", 2.0),
        ("thp_collapse_alloc_total", 0.0),
        ("compact_stall_total", 7.0),
        ("khugepaged_seconds", 0.012),
        ("rss_bytes", 1_288_490_188.0),
        ("huge_ratio", 0.831),
        ("free_huge_pages_total", 2101.0),
    ];
    Interval {
        index,
        start_ns: index * 1_000_000_000,
        end_ns: (index + 1) * 1_000_000_000,
        derived: derive(&counts, None),
        counts,
        readings: readings
            .map(|(name, value)| (name.to_owned(), Reading::of(value)))
            .into(),
    }
}

/// Two groups, each counting half of the time.
fn counts() -> Vec<Count> {
    let mut counts = Vec::new();
    let groups: [&[(&str, u64)]; 2] = [
        &[
            (CYCLES, 1_000_000_000),
            (INSTRUCTIONS, 1_200_000_000),
            ("dtlb_load_walks", 1_200_000),
            ("dtlb_store_walks", 240_000),
            ("dtlb_load_walk_active", 80_000_000),
            ("dtlb_store_walk_active", 10_000_000),
        ],
        &[
            (CYCLES, 900_000_000),
            (INSTRUCTIONS, 1_000_000_000),
            ("itlb_walks", 100_000),
            ("itlb_walk_active", 9_000_000),
            ("dtlb_load_walks_4k", 950_000),
            ("dtlb_load_walks_2m", 50_000),
            ("dtlb_store_walks_4k", 200_000),
            ("dtlb_store_walks_2m", 0),
        ],
    ];
    for (group, events) in (0..).zip(groups) {
        counts.extend(events.iter().map(|&(kind, value)| Count {
            kind: kind.to_owned(),
            event: kind.to_uppercase(),
            pmu: "cpu".to_owned(),
            group,
            tally: Tally::Counted {
                value,
                enabled_ns: 500_000_000,
                running_ns: 500_000_000,
            },
        }));
    }
    counts
}
