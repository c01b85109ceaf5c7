//! The end times of requests, if their output has them.

use super::{counted, fault, report, source};
use crate::loadgen::read;
use crate::run::trial::Times;
use crate::run::trial::timeline::Unrelated;

fn timed(text: &str, bytes: &[u8]) -> Result<Vec<(u64, u64)>, Unrelated> {
    let documents = vec![("log".to_owned(), bytes.to_vec())];
    let Times::Requests(timed) = read(&source(text), Ok(documents)).times? else {
        panic!("requests one by one");
    };
    let plain = timed.iter().map(|one| (one.ended_unix_ns, one.took_ns));
    Ok(plain.collect())
}

#[test]
fn requests_with_times_keep_them() {
    let log = b"0 1 250 0 1789000000 17 3\n0 2 failed 0 1789000000 900\n1 3 9 0 1789000001 5\n";
    let want = [
        (1_789_000_000_000_017_000, 250_000),
        (1_789_000_001_000_005_000, 9_000),
    ];
    assert_eq!(timed("pgbench-log", log), Ok(want.to_vec()));
    let table = b"at_us,took_ns\n1789000000000001,700\n1789000000000009,300\n";
    let of = |text: &str| timed(text, table).expect("times");
    let ended = [
        (1_789_000_000_000_001_000, 700),
        (1_789_000_000_000_009_000, 300),
    ];
    assert_eq!(of("csv:took_ns,ended=at_us"), ended);
    let began = ended.map(|(at, took)| (at + took, took));
    assert_eq!(of("csv:took_ns,began=at_us"), began);
    let rows = &table[b"at_us,took_ns\n".len()..];
    assert_eq!(timed("csv:2@ns,ended=1@us", rows), Ok(ended.to_vec()));
    let lines = b"{\"took\":0.7,\"at\":{\"s\":\"1789000000.000001\"}}\n";
    let want = vec![(1_789_000_000_000_001_000, 700)];
    assert_eq!(timed("jsonl:took@us,ended=at.s@s", lines), Ok(want));
}

#[test]
fn unreadable_times_leave_the_latencies() {
    let rows = b"5,yesterday\n6,1789000000\n";
    let load = &report("csv:1@us,ended=2@s", rows).loads[0];
    assert_eq!((load.requests, load.timed.len()), (Some(2), 0));
    let lines = b"{\"ns\":5,\"at\":\"2020-03-06T16:47:36.78+08:00\"}\n";
    let want = vec![(1_583_484_456_780_000_000, 5)];
    assert_eq!(timed("jsonl:ns,ended=at@s", lines), Ok(want));
    let null = report("jsonl:ns,ended=at@s", b"{\"ns\":5,\"at\":null}\n");
    assert_eq!(counted(&null.loads[0]).count(), 1);
}

#[test]
fn where_there_are_no_times_none_are_made_up() {
    let none = |source: &str| {
        let source = source.to_owned();
        Err(Unrelated::NoTimes { source })
    };
    assert_eq!(timed("csv:1@us", b"5\n6\n"), none("csv:1"));
    assert_eq!(timed("csv:1@us", b""), Err(Unrelated::Unread));
    assert!(fault("csv:took_us,ended=at_s@s", b"took_us\n5\n").contains("at_s"));
    let yesterday = timed("csv:1@us,ended=2@s", b"5,yesterday\n6,1789000000\n");
    let Err(Unrelated::Unreadable { error }) = yesterday else {
        panic!("{yesterday:?}");
    };
    assert_eq!(error, "line 1, 2: `yesterday` is no time in s");
    assert!(fault("csv:1@us,ended=2@s", b"5\n").contains("1 cells"));
}
