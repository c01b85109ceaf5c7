//! Stacks of threads that a huge page holds.

use super::{asking, report, run, server};
use crate::harness::report::cause;
use crate::harness::{Case, is_root, one_at_a_time, readings, settings, skip};

const THREADS: f64 = 5.0;

#[test]
fn stacks_that_grew_to_huge_pages_are_found() {
    let name = "stacks_that_grew_to_huge_pages_are_found";
    if !is_root() {
        return skip(name, "needs root to write the machine's settings");
    }
    let _turn = one_at_a_time();
    let (case, before) = (Case::new(), settings());
    let service = server(&case, &format!("--stacks {THREADS}"));
    let policies = ["thp=never", "huge:thp=always,defrag=always"];
    let mut run = run(&case, &service, &asking(3), &["--system", "--warmup", "0"]);
    run.args(["--policy", policies[0], "--policy", policies[1]])
        .args(["--max-rounds", "7"]);
    let (_, report) = report(&case, &mut run, 0);
    assert_eq!(settings(), before);
    let huge = report["host"]["thp"]["pmd_bytes"].as_f64().expect("a size");
    let stacks = |policy: &str| readings(&report, policy, "thread_stacks_bytes");
    for small in stacks("thp=never") {
        assert!((1.0..huge).contains(&small), "{small}");
    }
    if stacks("huge").iter().any(|&bytes| bytes < THREADS * huge) {
        return skip(name, "there was no huge page for some stack");
    }
    let found = cause(&report, "thread_stacks_grew", "huge");
    assert_eq!(found["outcome"], "shown", "{found:#}");
    assert_eq!(readings(&report, "huge", "threads_total")[0], THREADS);
}
