//! Memory that khugepaged fills, although the program never touched it.

use serde_json::Value;

use crate::harness::report::cause;
use crate::harness::{Case, is_root, lab, one_at_a_time, readings, settings, skip};

/// The laboratory advises its memory itself, so the policy makes nothing else on the machine huge at a fault.
const FAST: &str = "filled:thp=madvise,khugepaged.pages_to_scan=65536,\
                    khugepaged.scan_sleep_millisecs=10,khugepaged.alloc_sleep_millisecs=10";

const CAUSE: &str = "khugepaged_filled_gaps";

fn report(case: &Case, policy: &str, rounds: &str, hold: &str) -> Value {
    let json = case.path("report.json");
    let words = ["run", "--system", "--warmup", "0", "--max-rounds", rounds];
    case.hugewise()
        .args(words)
        .args(["--policy", "thp=never", "--policy", policy, "--json"])
        .arg(&json)
        .arg("--")
        .arg(lab())
        .args(["gaps", "--huge-pages", "16", "--hold", hold])
        .assert()
        .success();
    case.json(&json)
}

#[test]
fn memory_that_khugepaged_filled_is_found() {
    let name = "memory_that_khugepaged_filled_is_found";
    if !is_root() {
        return skip(name, "needs root to write khugepaged's settings");
    }
    let _turn = one_at_a_time();
    let (case, before) = (Case::new(), settings());
    let filled = report(&case, FAST, "7", "5000");
    assert_eq!(settings(), before);
    if readings(&filled, "filled", "khugepaged_collapsed_total").contains(&0.0) {
        return skip(name, "khugepaged made no huge page in some trial");
    }
    // The workload makes none at a fault; if there are some, other programs may have caused the growth.
    let at_faults = readings(&filled, "filled", "thp_fault_alloc_total");
    if at_faults.iter().any(|&count| count > 0.0) {
        return skip(name, "others made huge pages at faults meanwhile");
    }
    let found = cause(&filled, CAUSE, "filled");
    assert_eq!(found["outcome"], "shown", "{found:#}");
    let huge = filled["host"]["thp"]["pmd_bytes"].as_f64().expect("a size");
    let peak = |of: &str| found["peak_bytes"][of].as_f64().expect("a peak");
    let grown = peak("arm") - peak("baseline");
    // Each of 16 huge pages had one small page before; a program differs by a few.
    assert!((0.5 * huge..17.0 * huge).contains(&grown), "{found:#}");
    // The same without gaps that may be filled.
    let kept = report(
        &case,
        &format!("{FAST},khugepaged.max_ptes_none=0"),
        "1",
        "500",
    );
    let huge = readings(&kept, "filled", "huge_anon_peak_bytes");
    assert!(huge.iter().all(|&bytes| bytes == 0.0), "{huge:?}");
}
