use std::fmt::Write as _;

use expect_test::expect;

use super::*;
use crate::perf::table::Table;

/// A machine reduced to its processor and event sources, with a simulated kernel.
struct Machine {
    name: &'static str,
    cpuinfo: &'static str,
    /// Event sources and their numbers.
    sources: &'static [(&'static str, u32)],
    table: Table,
}

fn machine(
    name: &'static str,
    cpuinfo: &'static str,
    sources: &'static [(&'static str, u32)],
    table: Table,
) -> Machine {
    Machine {
        name,
        cpuinfo,
        sources,
        table,
    }
}

macro_rules! x86 {
    ($vendor:literal, $family:literal, $model:literal) => {
        concat!(
            "processor\t: 0\nvendor_id\t: ",
            $vendor,
            "\ncpu family\t: ",
            $family,
            "\nmodel\t: ",
            $model,
            "\n"
        )
    };
}

macro_rules! arm {
    ($implementer:literal, $part:literal) => {
        concat!(
            "processor\t: 0\nCPU implementer\t: ",
            $implementer,
            "\nCPU part\t: ",
            $part,
            "\n"
        )
    };
}

/// The machines, with the number of general-purpose counters with both threads of a core in use. On Arm, cycles have a
/// dedicated counter and instructions do not; the table ignores this.
fn machines() -> Vec<Machine> {
    let with = Table::with_counters;
    let cpu = &[("cpu", 4)];
    let arm = &[("armv8_pmuv3_0", 8)];
    let watched = Table {
        reserved: 1,
        ..with(4)
    };
    let amd = Table {
        fixed: false,
        ..with(6)
    };
    vec![
        machine("Haswell", x86!("GenuineIntel", "6", "63"), cpu, with(4)),
        machine(
            "Skylake, watchdog",
            x86!("GenuineIntel", "6", "85"),
            cpu,
            watched,
        ),
        machine(
            "Sapphire Rapids",
            x86!("GenuineIntel", "6", "143"),
            cpu,
            with(4),
        ),
        machine(
            "Sierra Forest",
            x86!("GenuineIntel", "6", "175"),
            cpu,
            with(6),
        ),
        machine(
            "Alder Lake",
            x86!("GenuineIntel", "6", "151"),
            &[("cpu_core", 4), ("cpu_atom", 10)],
            with(6),
        ),
        machine("Zen 4", x86!("AuthenticAMD", "25", "17"), cpu, amd),
        machine("Neoverse N1", arm!("0x41", "0xd0c"), arm, with(6)),
        machine("Neoverse V3", arm!("0x41", "0xd83"), arm, with(6)),
        machine("AmpereOne", arm!("0xc0", "0xac3"), arm, with(6)),
        machine("unknown", x86!("GenuineIntel", "6", "42"), cpu, with(4)),
    ]
}

fn root(machine: &Machine) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("proc")).unwrap();
    std::fs::write(folder.path().join("proc/cpuinfo"), machine.cpuinfo).unwrap();
    for (name, number) in machine.sources {
        let source = format!("sys/bus/event_source/devices/{name}");
        let source = folder.path().join(source);
        std::fs::create_dir_all(&source).unwrap();
        std::fs::write(source.join("type"), format!("{number}\n")).unwrap();
    }
    let root = Root::at(folder.path());
    (folder, root)
}

/// Returns the groups, without the cycles and instructions that each contains.
fn told(plan: &Plan) -> String {
    let mut text = String::new();
    for source in plan.pmus() {
        let family = source.family.unwrap_or_else(|| "no table".to_owned());
        writeln!(text, "  {} {family}", source.name).unwrap();
        for group in source.groups {
            assert!(group.starts_with(&["cycles".to_owned(), "instructions".to_owned()]));
            let own = &group[2..];
            let own = if own.is_empty() {
                "nothing else".to_owned()
            } else {
                own.join(" ")
            };
            writeln!(text, "    {own}").unwrap();
        }
    }
    text
}

#[test]
fn what_a_trial_of_run_counts_on_ten_machines() {
    let mut text = String::new();
    for machine in machines() {
        let (_folder, root) = root(&machine);
        let plan = plan(&root, &machine.table, None, &WantedEvents::Walks).unwrap();
        assert_eq!(plan.refused, [], "{}", machine.name);
        write!(text, "{}\n{}", machine.name, told(&plan)).unwrap();
    }
    expect![[r#"
        Haswell
          cpu haswell
            dtlb_load_walks dtlb_store_walks dtlb_load_walk_active dtlb_store_walk_active
            itlb_walks itlb_walk_active
        Skylake, watchdog
          cpu skylake
            dtlb_load_walks dtlb_store_walks
            dtlb_load_walk_active dtlb_store_walk_active itlb_walks
            itlb_walk_active
        Sapphire Rapids
          cpu sapphirerapids
            dtlb_load_walks dtlb_store_walks dtlb_load_walk_active dtlb_store_walk_active
            itlb_walks itlb_walk_active
        Sierra Forest
          cpu sierraforest
            dtlb_load_walks dtlb_store_walks itlb_walks itlb_walk_pending dtlb_load_walk_pending dtlb_store_walk_pending
        Alder Lake
          cpu_atom alderlake-atom
            dtlb_load_walks dtlb_store_walks itlb_walks
          cpu_core alderlake-core
            dtlb_load_walks dtlb_store_walks
            dtlb_load_walk_active dtlb_store_walk_active itlb_walks
            itlb_walk_active
        Zen 4
          cpu zen4
            dtlb_walks itlb_walks
        Neoverse N1
          armv8_pmuv3_0 neoverse-n1
            dtlb_walks itlb_walks
        Neoverse V3
          armv8_pmuv3_0 neoverse-v3
            dtlb_walks dtlb_walk_pending itlb_walks itlb_walk_pending
        AmpereOne
          armv8_pmuv3_0 ampereone
            dtlb_walks itlb_walks
        unknown
          cpu no table
            nothing else
    "#]].assert_eq(&text);
}

#[test]
fn nothing_to_count_is_one_reason() {
    let machine = &machines()[0];
    let (_folder, root) = root(machine);
    let cycles = Code {
        source: crate::perf::open::HARDWARE,
        config: 0,
    };
    let table = Table {
        kernel_permitted: false,
        absent: vec![cycles],
        ..machine.table.clone()
    };
    let why = plan(&root, &table, None, &WantedEvents::Usual).unwrap_err();
    assert_eq!(why, Missing::NoHardware);
}

#[test]
fn names_of_perf_list_work_and_others_are_named() {
    let (_folder, root) = root(&machines()[1]);
    let sources = sources(&root).unwrap();
    let names = [
        "DTLB_LOAD_MISSES.STLB_HIT",
        "itlb_walks",
        "cycles",
        "nonsense",
    ];
    let events = WantedEvents::Named(names.map(str::to_owned).to_vec());
    assert_eq!(events.unknown(&sources), ["nonsense"]);
    let named = plan(&root, &Table::with_counters(4), None, &events).unwrap();
    let groups = &named.pmus()[0].groups;
    assert_eq!(groups[0][2..], ["itlb_walks", "dtlb_load_l2_hits"]);
}
