//! Patterns of page faults: each is reported for the workload that makes it, and for no other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::harness::{Case, is_root, lab, one_at_a_time, skip};
use super::{can_watch, number};

/// The maximum number of faults that a program's start may have of any pattern.
const A_HANDFUL: u64 = 48;

/// Base pages of a huge page.
fn pages_of_a_huge_page(summary: &Value) -> u64 {
    let bytes = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    let bytes: u64 = bytes.expect("its size").trim().parse().expect("a number");
    bytes / number(&summary["conditions"]["page_bytes"])
}

fn watched(case: &Case, words: &[&str]) -> Value {
    let json = case.path("faults.json");
    let mut command = case.hugewise();
    command.args(["faults", "--quiet", "--json"]).arg(&json);
    command.arg("--").arg(lab()).arg("fault-mix").args(words);
    command.assert().success();
    case.json(&json)
}

/// The patterns with more than a few faults. Whether latencies are bimodal depends on the machine, so no workload can
/// guarantee it.
fn shapes(summary: &Value) -> BTreeSet<String> {
    let all = summary["shapes"].as_array().expect("shapes").iter();
    let count = |shape: &Value| match shape["shape"].as_str() {
        Some("copies_after_fork") => number(&shape["copies"]),
        Some("two_humps") => 0,
        _ => number(&shape["faults"]),
    };
    let large = all.filter(|shape| count(shape) > A_HANDFUL);
    let name = |shape: &Value| shape["shape"].as_str().expect("a name").to_owned();
    large.map(name).collect()
}

#[test]
fn a_shape_is_told_where_it_was_made_and_nowhere_else() {
    const NAME: &str = "a_shape_is_told_where_it_was_made";
    if !is_root() {
        return skip(NAME, "needs root, to tell zero pages from others");
    }
    if !can_watch(NAME) {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let bare = watched(&case, &[]);
    assert_eq!(shapes(&bare), BTreeSet::new(), "{}", bare["shapes"]);
    // Two huge pages of memory, so that one fits at any address.
    let pages = (2 * pages_of_a_huge_page(&bare)).to_string();
    let (small, double, copies) = ("small_instead_of_huge", "double_fault", "copies_after_fork");
    let expected: [(&str, &str, &[&str]); 6] = [
        ("--write", &pages, &[small]),
        ("--read", &pages, &[]),
        ("--read-write", &pages, &[double]),
        // Freed in between, so that the second touch counts as a first one.
        ("--again", &pages, &[small]),
        ("--huge", "11", &[]),
        ("--copy", &pages, &[small, copies]),
    ];
    for (kind, count, wanted) in expected {
        let summary = watched(&case, &[kind, count]);
        let wanted: BTreeSet<String> = wanted.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(shapes(&summary), wanted, "{kind}: {}", summary["shapes"]);
    }
}
