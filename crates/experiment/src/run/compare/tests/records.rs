//! Two records against each other.

use super::experiment::{fast, plan, read, record_of, row};
use super::texts;
use crate::run::compare::*;

#[test]
fn two_records_compare_only_in_like_circumstances() {
    let a = record_of(plan(), 12, fast);
    let mut b = record_of(plan(), 14, |trial, slot| {
        fast(trial, slot);
        let slower = trial.value("wall_seconds").map_or(0.0, |value| value * 1.5);
        read(trial, "wall_seconds", slower);
    });
    let table = between(&a, &b, Across::Refused).expect("the same circumstances");
    let wall = row(&table, "wall_seconds", "never");
    assert!(
        (wall.ratio.expect("positive") - 1.5).abs() < 0.05,
        "{wall:?}"
    );
    assert_eq!(
        (wall.baseline.as_str(), wall.n, wall.warnings.len()),
        ("never", 12, 0)
    );
    // Sessions differ by more than the trials of each: with one on each side, only a fact is decided.
    assert_eq!((wall.low, wall.p), (None, None));
    assert_eq!(table.verdict.policies["never"], PolicyAnswer::NotDecided);
    let far = record_of(plan(), 14, |trial, slot| {
        fast(trial, slot);
        read(trial, "wall_seconds", 100.0);
    });
    let table = between(&a, &far, Across::Refused).expect("the same circumstances");
    assert_eq!(table.verdict.policies["never"], PolicyAnswer::Worse);
    b.header.host.kernel = "6.19.0".to_owned();
    let error = between(&a, &b, Across::Refused)
        .expect_err("another kernel")
        .to_string();
    assert!(
        error.contains("kernel: 6.18.0 → 6.19.0") && error.contains("--across"),
        "{error}"
    );
    let table = between(&a, &b, Across::Allowed).expect("allowed");
    let warning = "circumstances differ: kernel: 6.18.0 → 6.19.0";
    assert_eq!(
        texts(&row(&table, "wall_seconds", "never").warnings),
        [warning]
    );
}
