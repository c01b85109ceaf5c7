//! HTTP load generators, and fio.

use super::{counted, docs, fault, quantile, report};
use crate::loadgen::{Failures, read};
use crate::run::stats::Quantile;
use crate::run::trial::{Reading, Times};

/// The answered requests, the failed ones, and the longest in nanoseconds.
fn all(reader: &str, bytes: &[u8]) -> (Option<u64>, Option<u64>, u64) {
    let load = report(reader, bytes).loads.remove(0);
    (load.requests, load.errors, counted(&load).max_ns())
}

#[test]
fn k6_has_one_metric_of_requests() {
    assert_eq!(all("k6", posted!("k6.csv")), (Some(1), None, 213_399_901));
    assert_eq!(all("k6", posted!("k6.jsonl")), (Some(1), None, 213_400_000));
    let failed = b"metric_name,timestamp,metric_value,expected_response\n\
        http_req_duration,1,2.5,true\nhttp_req_duration,1,0,false\nchecks,1,1,\n";
    assert_eq!(all("k6", failed), (Some(1), Some(1), 2_500_000));
    let failed = br#"{"type":"Point","metric":"http_req_duration","data":{"value":2,"tags":{"expected_response":"true"}}}
{"type":"Point","metric":"http_req_duration","data":{"value":0,"tags":{"expected_response":"false"}}}
{"type":"Point","metric":"iterations","data":{"value":9,"tags":{}}}
"#;
    assert_eq!(all("k6", failed), (Some(1), Some(1), 2_000_000));
    assert!(fault("k6", b"running (0m30s)\n").contains("metric_value: no column"));
}

#[test]
fn vegeta_and_hey_write_each_request() {
    let json = posted!("vegeta.json");
    assert_eq!(all("vegeta", json), (Some(2), Some(1), 21_034_571));
    assert_eq!(
        all("vegeta", posted!("vegeta.csv")),
        (Some(2), Some(1), 21_034_571)
    );
    for bytes in [json.as_slice(), posted!("vegeta.csv")] {
        let reply = read(
            &super::source("vegeta"),
            Ok(vec![("x".into(), bytes.to_vec())]),
        );
        let Ok(Times::Requests(timed)) = reply.times else {
            panic!("{:?}", reply.times);
        };
        assert_eq!(
            timed[0].ended_unix_ns,
            1_571_990_487_413_894_000 + 21_034_571
        );
    }
    assert_eq!(
        all("hey", posted!("hey.csv")),
        (Some(2), Some(1), 5_100_000)
    );
    assert!(fault("hey", b"Summary:\n  Total: 1 secs\n").contains("response-time"));
    let report = b"Requests [total, rate]  3, 1\n";
    assert!(fault("vegeta", report).starts_with("line 1, timestamp: it has no time"));
    assert!(fault("vegeta", b"\x0f\xff\x81\x03").contains("vegeta encode"));
}

#[test]
fn oha_counts_answers_and_failures() {
    let oha = report("oha", posted!("oha.json")).loads.remove(0);
    assert_eq!(
        (oha.requests, oha.errors, oha.sent),
        (Some(198), Some(5), Some(200))
    );
    assert_eq!(oha.throughput, [3900.5]);
    assert_eq!(quantile(&oha, Quantile::P999), Some(0.0121));
    assert_eq!(quantile(&oha, Quantile::Max), Some(0.0123));
    let silent =
        br#"{"summary":{"slowest":null,"requestsPerSec":120.0},"latencyPercentiles":{"p50":null},
        "statusCodeDistribution":{},"errorDistribution":{"connection refused":240}}"#;
    let reply = read(
        &super::source("oha"),
        Ok(vec![("x".into(), silent.to_vec())]),
    );
    let (failed, sent) = (240, 240);
    assert_eq!(reply.failures, Some(Failures { failed, sent }));
    assert!(fault("oha", b"{}").contains("--output-format json"));
}

#[test]
fn locust_has_a_row_for_each_kind_of_request() {
    let (readings, _) = docs(
        "locust",
        &[("x_stats.csv".into(), posted!("locust_stats.csv"))],
    );
    assert_eq!(readings["latency_p99_seconds"], Reading::of(0.08));
    assert_eq!(readings["get_latency_p999_seconds"], Reading::of(0.19));
    assert_eq!(readings["get_latency_max_seconds"], Reading::of(0.2205));
    assert_eq!(readings["request_errors_total"], Reading::of(3.0));
    assert_eq!(readings["requests_total"], Reading::of(1197.0));
    assert!(matches!(
        readings["post_cart_add_latency_max_seconds"],
        Reading::Missing { .. }
    ));
    let history = b"Timestamp,User Count,Type,Name,Requests/s\n";
    assert!(fault("locust", history).contains("PREFIX_stats.csv"));
    let old = b"\"Type\",\"Name\",\"# requests\",\"# failures\",\"Max response time\",\"Requests/s\",\"50%\"\n\
        \"GET\",\"Get 1\",776,6,144,388.00,20\n\"None\",\"Aggregated\",1490,6,150,745.00,31\n";
    let (readings, _) = docs("locust", &[("x_requests.csv".into(), old)]);
    assert_eq!(readings["get_get_1_requests_total"], Reading::of(770.0));
    assert_eq!(readings["latency_p50_seconds"], Reading::of(0.031));
    assert_eq!(readings["latency_max_seconds"], Reading::of(0.15));
    assert_eq!(readings["throughput_per_second"], Reading::of(745.0));
    let failing = b"Type,Name,Request Count,Failure Count,Requests/s,50%\n\
        GET,/api/v1/pods,163870,163870,2731.19,1\n,Aggregated,163870,163870,2731.19,1\n";
    let reply = read(
        &super::source("locust"),
        Ok(vec![("x".into(), failing.to_vec())]),
    );
    let (failed, sent) = (163_870, 163_870);
    assert_eq!(reply.failures, Some(Failures { failed, sent }));
    // Half a millisecond is the smallest value that locust shows.
    let fast =
        b"Type,Name,Request Count,Failure Count,Requests/s,50%,99%\n,Aggregated,9,0,2700,0,1\n";
    let (readings, _) = docs("locust", &[("x".into(), fast)]);
    assert!(matches!(
        readings["latency_p50_seconds"],
        Reading::Missing { .. }
    ));
    assert_eq!(readings["latency_p99_seconds"], Reading::of(0.001));
    let torn = b"Type,Name,Request Count,Failure Count,Requests/s\nGET,/,12\n";
    assert!(fault("locust", torn).starts_with("line 2, Failure Count"));
}

#[test]
fn fio_has_reads_and_writes() {
    let fio = report("fio", posted!("fio.json"));
    let names: Vec<_> = fio.loads.iter().map(|load| load.name.as_deref()).collect();
    assert_eq!(names, [Some("random read"), Some("random write")]);
    let read = &fio.loads[0];
    assert_eq!(
        (read.requests, read.throughput[0]),
        (Some(65_986), 3_102.595_449)
    );
    assert_eq!(quantile(read, Quantile::P99), Some(0.001_056_768));
    assert_eq!(quantile(read, Quantile::Max), Some(0.008_216_5));
    assert_eq!(quantile(&fio.loads[1], Quantile::P999), None);
    let old = br#"{"jobs":[{"jobname":"a","error":0,"read":{"iops":5,"total_ios":9,"clat":{"max":7,"percentile":{"50.000000":3}}}}]}"#;
    let old = report("fio", old).loads.remove(0);
    assert_eq!(
        (old.name.as_deref(), quantile(&old, Quantile::P50)),
        (None, Some(3e-6))
    );
    // 2.1 gives no number of I/Os.
    let older = br#"{"jobs":[{"jobname":"a","error":0,
        "read":{"io_bytes":10338304,"iops":317,"clat":{"max":77,"percentile":{"99.000000":8}}},
        "write":{"io_bytes":0,"iops":0,"clat":{"max":0,"percentile":{"99.000000":0}}}}]}"#;
    let older = report("fio", older);
    assert_eq!((older.loads.len(), older.loads[0].requests), (1, None));
    assert_eq!(older.loads[0].throughput, [317.0]);
    assert_eq!(quantile(&older.loads[0], Quantile::P99), Some(8e-6));
    let none = br#"{"jobs":[{"jobname":"a","error":0,"read":{"iops":0,"total_ios":0}}]}"#;
    assert!(fault("fio", none).contains("no job did any I/O"));
    let failed = br#"{"jobs":[{"jobname":"a","error":5,"read":{"iops":0,"total_ios":0}}]}"#;
    let reply = super::super::read(
        &super::source("fio"),
        Ok(vec![("x".into(), failed.to_vec())]),
    );
    assert!(reply.failures.is_some());
}
