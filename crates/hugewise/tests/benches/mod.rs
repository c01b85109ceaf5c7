//! `hugewise bench` and `run --fragment` as users see them.

use std::time::Duration;

use crate::harness::{Case, is_root, lab, one_at_a_time, readings, skip, wait_until};
use predicates::str::contains;
use serde_json::Value;

#[test]
fn what_cannot_be_is_refused_with_what_could() {
    let cases: &[(&[&str], &str)] = &[
        (&["growth", "--steps", "1000"], "whole pages"),
        (&["growth", "--steps", "128M"], "--heap 256M would hold two"),
        (&["growth", "--heap", "4096T"], "would fit"),
        (&["growth", "--means", "sbrk"], "brk, mmap, mprotect"),
        (&["growth", "--start", "here"], "aligned, between"),
        (&["growth", "--touched", "never"], "at-once, later"),
        (&["heap", "--programs", "perl"], "go-1.7, go"),
        (&["fork", "--sizes", "4096T"], "would fit"),
        (&["fork", "--writes", "0"], "1..="),
        (&["slab", "--prefault", "pray"], "off, populate, touch"),
        (&["slab", "--places", "99999999999999"], "would fit"),
        (&["slab", "--allocators=bump"], "jemalloc"),
        (
            &["slab", "--allocators", "--pages", "4k"],
            "cannot be used with",
        ),
        (&["slab", "--pages", "hugetlb-2m"], "auto"),
        (&["fragment"], "add --system"),
        (&["fragment", "--system", "--to", "80"], "write 80%"),
        (&["fragment", "--system", "--to", "100%"], "1% to 99%"),
    ];
    for (arguments, fix) in cases {
        let case = Case::new();
        let out = case.path("record.jsonl");
        let mut bench = case.hugewise();
        bench.arg("bench").args(*arguments).arg("--out").arg(&out);
        bench.assert().code(2).stderr(contains(*fix));
        assert!(!out.exists(), "{arguments:?}");
    }
}

/// Runs a bench for one round and returns its report.
fn report(arguments: &[&str]) -> Value {
    let case = Case::new();
    let (out, json) = (case.path("record.jsonl"), case.path("report.json"));
    let mut bench = case.hugewise();
    bench.arg("bench").args(arguments);
    bench.args(["--max-rounds", "1", "--out"]).arg(&out);
    bench.arg("--json").arg(&json).assert().success();
    // The record is enough to draw the same.
    case.hugewise().arg("report").arg(&out).assert().success();
    case.json(&json)
}

fn advised_huge_pages() -> bool {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    std::fs::read_to_string(path).is_ok_and(|mode| !mode.contains("[never]"))
}

#[test]
fn a_heap_is_huge_by_its_steps() {
    let _turn = one_at_a_time();
    if !advised_huge_pages() {
        return skip("a_heap_is_huge_by_its_steps", "advice brings no huge page");
    }
    assert!(lab().exists());
    let report = report(&[
        "growth", "--steps", "64K,2M", "--start", "aligned", "--heap", "8M", "--pages", "4k,2m",
    ]);
    let share = |policy: &str, step: &str| {
        let name = format!("bench/mmap/{step}/aligned/at-once/8388608/huge_ratio");
        readings(&report, policy, &name)
    };
    assert_eq!(share("2m", "65536"), [0.0]);
    assert_eq!(share("2m", "2097152"), [1.0]);
    assert_eq!(share("4k", "2097152")[0], 0.0);
}

#[test]
fn programs_grow_heaps_their_way() {
    let _turn = one_at_a_time();
    let report = report(&[
        "heap",
        "--programs",
        "go-1.7,go",
        "--heap",
        "8M",
        "--pages",
        "auto,2m",
    ]);
    let share = |policy: &str, program: &str| {
        readings(
            &report,
            policy,
            &format!("bench/{program}/8388608/huge_ratio"),
        )
    };
    assert_eq!(share("2m", "go-1.7"), [0.0]);
    if advised_huge_pages() {
        assert_eq!(share("2m", "go"), [1.0]);
    }
}

#[test]
fn only_writes_beside_a_child_copy() {
    let _turn = one_at_a_time();
    let report = report(&["fork", "--sizes", "8M", "--writes", "1000", "--pages", "4k"]);
    let faults = |moment: &str| {
        readings(
            &report,
            "4k",
            &format!("bench/{moment}/8388608/1000/faults_total"),
        )
    };
    assert_eq!(faults("alone"), [0.0]);
    assert!(faults("forked")[0] > 500.0, "{:?}", faults("forked"));
}

#[test]
fn slabs_are_compared_by_pages_and_by_allocators() {
    let _turn = one_at_a_time();
    let load = ["--places", "2000", "--operations", "20000"];
    let slabs = report(&[&["slab", "--pages", "4k,auto"], &load[..]].concat());
    for source in ["slab", "slab-populate", "slab-touch"] {
        let name = format!("bench/{source}/2000/20000/operations_per_second");
        assert!(readings(&slabs, "auto", &name)[0] > 0.0);
    }
    let allocators = report(&[&["slab", "--allocators=glibc,glibc-top-pad"], &load[..]].concat());
    let name = "bench/malloc/2000/20000/operations_per_second";
    assert!(readings(&allocators, "glibc-top-pad", name)[0] > 0.0);
}

#[test]
fn an_allocator_that_is_named_and_missing_is_refused() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let bench = ["bench", "slab", "--allocators=glibc-hugetlb"];
    let pools = std::fs::read_to_string("/proc/sys/vm/nr_hugepages").unwrap_or_default();
    if pools.trim() != "0" {
        return skip(
            "an_allocator_that_is_named_and_missing_is_refused",
            "there is a pool",
        );
    }
    case.hugewise()
        .args(bench)
        .assert()
        .code(4)
        .stderr(contains("pool"));
}

#[test]
fn a_state_of_free_memory_needs_system_and_is_read_before_each_trial() {
    let _turn = one_at_a_time();
    let case = Case::new();
    case.hugewise()
        .args(["run", "--fragment", "5%", "--", "true"])
        .assert()
        .code(2)
        .stderr(contains("add --system"));
    let (out, json) = (case.path("record.jsonl"), case.path("report.json"));
    case.hugewise()
        .args(["run", "--system", "--fragment", "5%", "--policy", "as-is"])
        .args(["--max-rounds", "1", "--json"])
        .arg(&json)
        .arg("--out")
        .arg(&out)
        .args(["--", "true"])
        .assert()
        .success()
        .stderr(contains("free memory:"));
    let report = case.json(&json);
    let run = &crate::harness::report::answer(&report)["circumstances"][0];
    assert_eq!(run["fragment"], 5, "{run}");
    let share = readings(&report, "as-is", "fragmented_before_ratio");
    assert!(share[0] >= 0.0 && share[0] <= 1.0, "{share:?}");
    assert_eq!(holders(5), 0);
}

/// A kill leaves nothing behind, because the holder ends with the program.
#[test]
fn the_state_goes_with_the_program_that_is_killed() {
    if !is_root() {
        return skip(
            "the_state_goes_with_the_program_that_is_killed",
            "needs root for --system",
        );
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let mut running = case.spawn(&[
        "run",
        "--system",
        "--fragment",
        "6%",
        "--policy",
        "as-is",
        "--",
        "sleep",
        "30",
    ]);
    wait_until("the holder", || holders(6) > 0);
    running.signal("KILL");
    running.end(Duration::from_secs(60));
    wait_until("the end of the holder", || holders(6) == 0);
}

/// Processes that hold this percentage of free memory fragmented.
fn holders(percent: u32) -> usize {
    let words = format!("\0fragmented\0--to\0{percent}\0");
    let entries = std::fs::read_dir("/proc").expect("/proc");
    let lines = entries.filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok());
    lines
        .filter(|line| line.ends_with(words.as_bytes()))
        .count()
}
