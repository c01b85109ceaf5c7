//! Real output of the programs, with the figures in their summaries.

use super::{counted, docs, quantile, report, values};
use crate::loadgen::{Failures, read};
use crate::run::plan::LatencySource;
use crate::run::stats::Quantile;
use crate::run::trial::{Pacing, Reading, Times};

fn missing(reading: &Reading) -> bool {
    matches!(reading, Reading::Missing { .. })
}

#[test]
fn vegeta_and_hey_of_a_server_that_fails_at_times() {
    let vegeta = report("vegeta", fixture!("vegeta.json")).loads.remove(0);
    assert_eq!((vegeta.requests, vegeta.errors), (Some(13), Some(2)));
    assert_eq!(counted(&vegeta).max_ns(), 64_717_215);
    let files = vec![("x".to_owned(), fixture!("vegeta.json").to_vec())];
    let reply = read(&super::source("vegeta"), Ok(files));
    let Ok(Times::Requests(timed)) = reply.times else {
        panic!("{:?}", reply.times);
    };
    // 2026-11-29T11:03:38.141425585Z, and 12.522247 ms.
    assert_eq!(
        timed[0].ended_unix_ns,
        1_795_950_218_141_425_585 + 12_522_247
    );
    let hey = report("hey", fixture!("hey.csv")).loads.remove(0);
    assert_eq!((hey.requests, hey.errors), (Some(19), Some(2)));
    assert_eq!(counted(&hey).max_ns(), 59_300_000);
}

#[test]
fn locust_of_two_kinds_of_request() {
    let (readings, pacing) = docs("locust", &[("x".into(), fixture!("locust_stats.csv"))]);
    assert_eq!(pacing, Some(Pacing::Closed));
    for (name, value) in [
        ("throughput_per_second", 39.184_769_188_245_625),
        ("latency_p50_seconds", 0.048),
        ("latency_p99_seconds", 0.1),
        ("get_latency_max_seconds", 0.153_237_381),
        ("post_cart_add_latency_p999_seconds", 0.072),
        ("requests_total", 153.0),
        ("request_errors_total", 4.0),
    ] {
        assert_eq!(readings[name], Reading::of(value), "{name}");
    }
}

#[test]
fn fio_3_33_of_random_reads_and_writes() {
    let (readings, _) = docs("fio", &[("x".into(), fixture!("fio.json"))]);
    for (name, value) in [
        ("random_read_throughput_per_second", 10_191.904_048),
        ("random_read_latency_p99_seconds", 0.000_117_248),
        ("random_read_latency_p999_seconds", 0.002_867_2),
        ("random_read_latency_max_seconds", 0.004_739_178),
        ("random_read_requests_total", 20_394.0),
        ("random_write_latency_p50_seconds", 3.024e-6),
        ("random_write_requests_total", 20_420.0),
    ] {
        assert_eq!(readings[name], Reading::of(value), "{name}");
    }
}

#[test]
fn jmh_1_37_of_two_parameters() {
    let jmh = report("jmh", fixture!("jmh-1.37.json"));
    let names: Vec<_> = jmh.loads.iter().map(|load| load.name.as_deref()).collect();
    assert_eq!(names, [Some("Touch.step mib=1"), Some("Touch.step mib=64")]);
    let slowest = values(&jmh.loads[1])[1];
    assert!((slowest - 0.001_064_891_606_060_606).abs() < 1e-15);
    assert_eq!(values(&jmh.loads[0]).len(), 3);
}

#[test]
fn memtier_as_posted() {
    let (readings, pacing) = docs("memtier", &[("x".into(), posted!("memtier-posted.json"))]);
    assert_eq!(pacing, Some(Pacing::Unknown));
    for (name, value) in [
        ("throughput_per_second", 90_018.1),
        ("latency_p50_seconds", 0.000_231),
        ("latency_p99_seconds", 0.001_415),
        ("latency_p999_seconds", 0.002_575),
        ("latency_max_seconds", 0.023_935),
        ("requests_total", 71_924_614.0),
    ] {
        assert_eq!(readings[name], Reading::of(value), "{name}");
    }
    assert!(!readings.contains_key("request_errors_total"));
}

#[test]
fn oha_1_16_as_posted() {
    let (readings, _) = docs("oha", &[("x".into(), posted!("oha-posted.json"))]);
    for (name, value) in [
        ("throughput_per_second", 7_205.726_530_194_245),
        ("latency_p50_seconds", 0.000_635),
        ("latency_p99_seconds", 0.031_008_791),
        ("latency_p999_seconds", 0.062_437_375),
        ("latency_max_seconds", 0.577_411_167),
        ("requests_total", 21_636.0),
        ("request_errors_total", 0.0),
    ] {
        assert_eq!(readings[name], Reading::of(value), "{name}");
    }
}

#[test]
fn ycsb_has_a_group_for_each_operation() {
    let (readings, pacing) = docs("ycsb", &[("x".into(), fixture!("ycsb.txt"))]);
    assert_eq!(pacing, Some(Pacing::Closed));
    for (name, value) in [
        ("throughput_per_second", 465.838_509_316_770_17),
        ("read_latency_p50_seconds", 0.003_105),
        ("read_latency_p99_seconds", 0.012_903),
        ("read_latency_p999_seconds", 0.013_711),
        ("update_latency_p95_seconds", 0.009_631),
        ("update_latency_max_seconds", 0.015_879),
        ("read_requests_total", 131.0),
        ("update_request_errors_total", 0.0),
    ] {
        assert_eq!(readings[name], Reading::of(value), "{name}");
    }
    assert!(!readings.keys().any(|name| name.starts_with("cleanup")));
    assert!(!readings.keys().any(|name| name.contains("gc")));
}

/// Failures are counted by their code, and are not answers.
#[test]
fn ycsb_of_a_store_that_fails() {
    let refused = b"[OVERALL], RunTime(ms), 250501.0\n[OVERALL], Throughput(ops/sec), 3.99\n\
        [READ], Operations, 0.0\n[READ], AverageLatency(us), NaN\n\
        [READ], MinLatency(us), 9.223372036854776E18\n[READ], MaxLatency(us), 0.0\n\
        [READ], 99thPercentileLatency(us), 0.0\n[READ], Return=ERROR, 1000\n\
        [READ-FAILED], Operations, 1000.0\n[READ-FAILED], 99thPercentileLatency(us), 1003519.0\n";
    let source: LatencySource = super::source("ycsb");
    let reply = read(&source, Ok(vec![("x".into(), refused.to_vec())]));
    let (failed, sent) = (1000, 1000);
    assert_eq!(reply.failures, Some(Failures { failed, sent }));
    assert!(missing(&reply.readings["read_latency_p99_seconds"]));
    assert!(!reply.readings.keys().any(|name| name.contains("failed")));
    let old = report(
        "ycsb",
        b"[OVERALL],RunTime(ms), 10110\n[OVERALL],Throughput(ops/sec), 98.9\n\
        [UPDATE], Operations, 491\n[UPDATE], 99thPercentileLatency(ms), 1\n\
        [UPDATE], Return=0, 480\n[UPDATE], Return=1, 11\n[UPDATE], 0, 464\n[UPDATE], >1000, 0\n",
    );
    let update = &old.loads[1];
    assert_eq!((update.requests, update.errors), (Some(480), Some(11)));
    assert_eq!(quantile(update, Quantile::P99), Some(0.001));
}

#[test]
fn ycsb_is_refused_where_it_is_not_one_whole_run() {
    let twice = [fixture!("ycsb.txt").as_slice(), fixture!("ycsb.txt")].concat();
    let error = super::fault("ycsb", &twice);
    assert!(
        error.contains("Throughput(ops/sec): a second run"),
        "{error}"
    );
    assert!(super::fault("ycsb", b"[READ], Operations, 3\n").starts_with("[OVERALL]"));
    let strange = b"[OVERALL], Throughput(ops/sec), fast\n";
    assert!(super::fault("ycsb", strange).starts_with("line 1, Throughput(ops/sec)"));
    let planned = b"[OVERALL], Throughput(ops/sec), 5\n[Intended-READ], MaxLatency(us), 7\n";
    assert_eq!(report("ycsb", planned).pacing, Pacing::Open);
}
