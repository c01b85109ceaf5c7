//! What an ordinary user can see of page faults at each level of `kernel.perf_event_paranoid`.

use serde_json::Value;

use super::super::harness::{Case, Restored, can_grant, lab, one_at_a_time};
use super::number;

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
const PAGES: &str = "1009";

/// The summary of a known number of faults, or the error message.
fn seen(case: &Case, mut hugewise: assert_cmd::Command) -> Result<Value, String> {
    let json = case.path("faults.json");
    let copy = case.path("hugewise-lab");
    std::fs::copy(lab(), &copy).expect("a copy");
    hugewise
        .args(["faults", "--quiet", "--json"])
        .arg(&json)
        .arg("--")
        .arg(&copy);
    hugewise.args(["touch", "--small", "--pages", PAGES]);
    let done = hugewise.output().expect("hugewise");
    match done.status.code() {
        Some(0) => Ok(case.json(&json)),
        Some(4) => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
        other => panic!("{other:?}: {}", String::from_utf8_lossy(&done.stderr)),
    }
}

/// The upstream kernel has no level above 2; some distributions refuse everything from level 3. Both are correct if a
/// refusal names the least privilege that helps, and if that privilege helps.
#[test]
fn a_level_above_two_hides_nothing_or_is_named() {
    const NAME: &str = "a_level_above_two_hides_nothing_or_is_named";
    if !can_grant(NAME) {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let _restored = Restored::of(PARANOID);
    let set = |level: &str| std::fs::write(PARANOID, level).expect("the level");
    let pages: u64 = PAGES.parse().expect("a number");

    set("3");
    match seen(&case, case.hugewise_as_nobody()) {
        Ok(summary) => {
            assert_eq!(summary["conditions"]["modes"], "user");
            assert!(
                number(&summary["books"]["counted"]) >= pages,
                "{}",
                summary["books"]
            );
        }
        Err(said) => {
            let least = "CAP_PERFMON, or kernel.perf_event_paranoid at most 2";
            assert!(said.contains(least), "{said}");
        }
    }
    let granted = seen(&case, case.hugewise_with("+perfmon")).expect("enough");
    assert_ne!(granted["conditions"]["modes"], "user");
    assert!(number(&granted["books"]["counted"]) >= pages);

    set("2");
    let ordinary = seen(&case, case.hugewise_as_nobody()).expect("enough");
    assert_eq!(ordinary["conditions"]["modes"], "user");
    set("1");
    let more = seen(&case, case.hugewise_as_nobody()).expect("enough");
    assert_ne!(more["conditions"]["modes"], "user");
}
