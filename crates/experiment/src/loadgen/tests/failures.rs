//! No percentile without a request, and no success where most requests failed.

use super::{docs, quantile, report, source};
use crate::base::missing::Missing;
use crate::loadgen::{Failures, read};
use crate::run::stats::Quantile;
use crate::run::trial::Reading;

fn failures(reader: &str, bytes: &[u8]) -> Option<Failures> {
    let documents = vec![("stdout".to_owned(), bytes.to_vec())];
    read(&source(reader), Ok(documents)).failures
}

/// The reason of a missing reading.
fn why(reader: &str, bytes: &[u8], metric: &str) -> String {
    match docs(reader, &[("stdout".into(), bytes)]).0.get(metric) {
        Some(Reading::Missing { missing }) => missing.to_string(),
        other => panic!("{metric}: {other:?}"),
    }
}

const NONE: Option<Failures> = Some(Failures { failed: 0, sent: 0 });
const NO_ANSWER: &str = "not counted: no request was answered";

#[test]
fn nothing_answered_has_no_latency() {
    let zero = posted!("wrk-zero.txt");
    assert_eq!(failures("wrk", zero), NONE);
    for metric in ["latency_p50_seconds", "latency_p99_seconds"] {
        assert_eq!(why("wrk", zero, metric), NO_ANSWER);
    }
    let nan = posted!("wrk2-nan.txt");
    assert_eq!(failures("wrk2", nan), NONE);
    assert_eq!(why("wrk2", nan, "latency_p999_seconds"), NO_ANSWER);
    let memtier = br#"{"ALL STATS":{"Totals":{"Count":0,"Ops/sec":0.0,"Max Latency":0.0,
        "Percentile Latencies":{"p50.00":0.0,"p99.00":0.0}}}}"#;
    assert_eq!(failures("memtier", memtier), NONE);
    assert_eq!(why("memtier", memtier, "latency_p99_seconds"), NO_ANSWER);
    let redis = b"\"test\",\"rps\",\"p50_latency_ms\",\"p99_latency_ms\"\n\"GET\",\"0.00\",\"0.000\",\"0.000\"\n";
    assert_eq!(failures("redis-benchmark", redis), NONE);
    assert_eq!(
        why("redis-benchmark", redis, "get_latency_p99_seconds"),
        NO_ANSWER
    );
    let nothing = b"Requests/sec: -nan\n  0 requests in 0.00us\n";
    assert_eq!(failures("wrk", nothing), NONE);
    // Some requests, with only zeros for their times: no failure, but no latency either.
    let zeros = b"  Latency Distribution\n 99% 0.00us\n 5 requests in 1s\nRequests/sec: 5\n";
    assert_eq!(failures("wrk", zeros), None);
    assert!(why("wrk", zeros, "latency_p99_seconds").contains("is 0"));
}

#[test]
fn most_requests_failed() {
    let failed = |failed, sent| Some(Failures { failed, sent });
    assert_eq!(
        failures("wrk", fixture!("wrk-errors.txt")),
        failed(1090, 1090)
    );
    assert_eq!(failures("wrk", fixture!("wrk.txt")), None);
    let broken = b"  0 requests in 1s\n  Socket errors: connect 0, read 236, write 0, timeout 0\nRequests/sec: 0\n";
    assert_eq!(failures("wrk", broken), failed(236, 236));
    let of_wrk = |read: u32| {
        let text = format!(
            "  Latency Distribution\n 99% 1.00ms\n 100 requests in 1s\n  Socket errors: connect 0, \
             read {read}, write 0, timeout 0\nRequests/sec: 100\n"
        );
        failures("wrk", text.as_bytes())
    };
    assert_eq!(
        (of_wrk(100), of_wrk(101)),
        (None, failed(101, 201)),
        "half is not most"
    );
    const FIRST: &[u8] = b"0 1 failed 0 1789000000 9\n";
    let log = b"0 1 failed 0 1789000000 9\n0 2 failed 0 1789000000 9\n0 3 5 0 1789000000 9\n";
    assert_eq!(failures("pgbench-log", log), failed(2, 3));
    assert_eq!(failures("pgbench-log", FIRST), failed(1, 1));
    assert_eq!(why("pgbench-log", FIRST, "latency_seconds"), NO_ANSWER);
    let hyperfine =
        br#"{"results":[{"command":"a","times":[0.1,0.2,0.1],"exit_codes":[1,137,0]}]}"#;
    assert_eq!(failures("hyperfine", hyperfine), failed(2, 3));
    // One benchmark of several that fails is missing, and the others are measured.
    assert_eq!(
        failures("google-benchmark", fixture!("google-benchmark.json")),
        None
    );
    let bad = br#"{"benchmarks":[{"name":"a","error_occurred":true,"error_message":"x"}]}"#;
    assert_eq!(failures("google-benchmark", bad), failed(1, 1));
    assert!(why("google-benchmark", bad, "a_latency_seconds").contains("failed"));
}

#[test]
fn a_skipped_benchmark_takes_no_time_that_is_known() {
    let skipped = posted!("google-benchmark-skipped.json");
    let said = why("google-benchmark", skipped, "bm_huge_latency_seconds");
    assert_eq!(said, "not counted: it was skipped: no huge page");
    assert_eq!(failures("google-benchmark", skipped), None);
    let (readings, _) = docs("google-benchmark", &[("stdout".into(), skipped)]);
    assert_eq!(readings["bm_read_latency_seconds"], Reading::of(5e-9));
}

#[test]
fn a_rate_is_read_where_percentiles_are_not_printed() {
    let bytes = posted!("wrk-no-latency.txt");
    let (readings, _) = docs("wrk", &[("stdout".into(), bytes)]);
    assert_eq!(readings["throughput_per_second"], Reading::of(13_769.23));
    assert_eq!(readings["requests_total"], Reading::of(100_000.0));
    assert!(matches!(
        &readings["latency_p99_seconds"],
        Reading::Missing { missing: Missing::NotCounted { obstacle } } if obstacle.contains("--latency")
    ));
    let whole = report("wrk", fixture!("wrk.txt"));
    assert_eq!(quantile(&whole.loads[0], Quantile::P99), Some(0.014_94));
}
