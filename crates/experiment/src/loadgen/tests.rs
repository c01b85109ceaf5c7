//! Every reader on the real program's output, and on random bytes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Latency, Load, LoadReport, read};
use crate::base::missing::Missing;
use crate::run::plan::LatencySource;
use crate::run::stats::Quantile;
use crate::run::trial::{Pacing, Reading};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/readers/",
            $name
        ))
    };
}

/// Outputs from public posts or from a tool's documentation, cut to the part that was misread.
macro_rules! posted {
    ($name:literal) => {
        include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/loadgen/",
            $name
        ))
    };
}

mod deviations;
mod failures;
mod generators;
mod named;
mod real;
mod rows;
mod times;

fn source(text: &str) -> LatencySource {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn report(text: &str, bytes: &[u8]) -> LoadReport {
    super::readings::parse(&source(text), bytes).unwrap_or_else(|error| panic!("{error}"))
}

fn docs(text: &str, documents: &[(String, &[u8])]) -> (BTreeMap<String, Reading>, Option<Pacing>) {
    let documents = documents.iter();
    let owned = documents.map(|(name, bytes)| (name.clone(), bytes.to_vec()));
    let reply = read(&source(text), Ok(owned.collect()));
    (reply.readings, reply.pacing)
}

fn fault(text: &str, bytes: &[u8]) -> String {
    match super::readings::parse(&source(text), bytes) {
        Ok(report) => panic!("{report:?}"),
        Err(error) => error.to_string(),
    }
}

fn quantile(load: &Load, wanted: Quantile) -> Option<f64> {
    let Some(Latency::Quantiles(quantiles)) = &load.latency else {
        panic!("{load:?}");
    };
    quantiles
        .iter()
        .find(|(q, _)| *q == wanted)
        .map(|(_, seconds)| *seconds)
}

fn values(load: &Load) -> &[f64] {
    match &load.latency {
        Some(Latency::Values(values)) => values,
        other => panic!("{other:?}"),
    }
}

fn counted(load: &Load) -> &crate::base::histogram::distribution::Distribution {
    match &load.latency {
        Some(Latency::Counted(all)) => all,
        other => panic!("{other:?}"),
    }
}

#[test]
fn wrk_tells_percentiles_and_errors() {
    let ok = report("wrk", fixture!("wrk.txt"));
    let load = &ok.loads[0];
    assert_eq!(ok.pacing, Pacing::Closed);
    let expected = [
        (Quantile::P50, Some(0.002_87)),
        (Quantile::P90, Some(0.008_58)),
        (Quantile::P95, None),
        (Quantile::P99, Some(0.014_94)),
        (Quantile::Max, Some(0.023_26)),
    ];
    for (which, seconds) in expected {
        assert_eq!(quantile(load, which), seconds, "{which:?}");
    }
    assert_eq!((load.requests, load.errors), (Some(2155), Some(0)));
    assert_eq!(load.throughput, [1072.62]);
    let bad = report("wrk", fixture!("wrk-errors.txt"));
    assert_eq!(bad.loads[0].errors, Some(1090));
    let rate_alone = report("wrk", b"Requests/sec: 5\n");
    assert_eq!(rate_alone.loads[0].throughput, [5.0]);
    assert!(format!("{:?}", rate_alone.loads[0].latency).contains("--latency"));
    let twice = fault("wrk", posted!("wrk-twice.txt"));
    assert!(
        twice.starts_with("line 7, requests: a second run"),
        "{twice}"
    );
    assert!(fault("wrk", b"").contains("Requests/sec"));
    let broken = b"  Latency Distribution\n  50%  2.87xs\n";
    assert!(fault("wrk", broken).starts_with("line 2, latency"));
    let too_many = format!("Non-2xx or 3xx responses: {}\n", u64::MAX).repeat(2);
    assert!(fault("wrk", too_many.as_bytes()).starts_with("line 2, errors"));
}

#[test]
fn wrk2_is_open_and_its_corrected_table_counts() {
    let all = report("wrk2", fixture!("wrk2.txt"));
    let load = &all.loads[0];
    assert_eq!(all.pacing, Pacing::Open);
    assert_eq!(quantile(load, Quantile::P50), Some(0.006_67));
    assert_eq!(quantile(load, Quantile::P999), Some(0.012_3));
    assert_eq!(quantile(load, Quantile::Max), Some(0.012_5));
    assert_eq!(load.throughput, [2000.28]);
    let table = report("hgrm", fixture!("wrk2.txt"));
    assert_eq!(counted(&table.loads[0]).count(), 39_500);
}

#[test]
fn redis_benchmark_has_a_load_for_each_test() {
    let text = report("redis-benchmark", fixture!("redis-benchmark.txt"));
    let names: Vec<_> = text.loads.iter().map(|load| load.name.as_deref()).collect();
    assert_eq!(names, [Some("SET"), Some("GET")]);
    let set = &text.loads[0];
    assert_eq!(quantile(set, Quantile::P50), Some(0.000_103));
    assert_eq!(quantile(set, Quantile::P95), Some(0.001_567));
    assert_eq!(quantile(set, Quantile::P999), Some(0.006_303));
    assert_eq!(quantile(set, Quantile::Max), Some(0.011_007));
    assert_eq!((set.requests, set.throughput[0]), (Some(20_000), 20_242.92));
    let csv = report("redis-benchmark", fixture!("redis-benchmark.csv"));
    assert_eq!(csv.loads.len(), 2);
    assert_eq!(quantile(&csv.loads[1], Quantile::P99), Some(0.003_999));
    assert_eq!(csv.loads[1].throughput, [21_574.97]);
    assert!(fault("redis-benchmark", b"GET: 100 requests per second\n").contains("without -q"));
}

#[test]
fn pgbench_counts_every_transaction() {
    let closed = report("pgbench-log", fixture!("pgbench.log"));
    assert_eq!(closed.pacing, Pacing::Closed);
    assert_eq!(counted(&closed.loads[0]).count(), 200);
    let open = report("pgbench-log", fixture!("pgbench-rate.log"));
    assert_eq!(open.pacing, Pacing::Open);
    // pgbench reported: 97 processed, 2 skipped, tps = 48.7.
    let load = &open.loads[0];
    assert_eq!((load.requests, load.errors), (Some(97), Some(2)));
    assert!(
        (45.0..55.0).contains(&load.throughput[0]),
        "{:?}",
        load.throughput
    );
    let aggregated = b"1795264470 129 1556565 26976094043 764 40014 0 0 0\n";
    assert!(fault("pgbench-log", aggregated).contains("--aggregate-interval"));
    let torn = b"0 1 x1 0 1789000000 2\n0 1 9 0 1789000000 z\n";
    assert!(fault("pgbench-log", torn).starts_with("line 2, time_us"));
    let six_columns = fault("pgbench-log", posted!("pgbench-aggregate.log"));
    assert!(
        six_columns.starts_with("line 1, client_id: column 1 is a time"),
        "{six_columns}"
    );
    assert!(six_columns.contains("--aggregate-interval"));
    let with_lag = b"1345828501 5601 1542744 483552416 61 2573 0 3\n";
    assert!(fault("pgbench-log", with_lag).contains("--aggregate-interval"));
    let vmstat = b"1 0 81920 7812 22 512\n";
    assert!(fault("pgbench-log", vmstat).contains("`22` is not a time since 1970"));
    let late = b"0 1 9 0 1789000000 1000000\n";
    assert!(fault("pgbench-log", late).contains("`1000000` is not a part of a second"));
}

#[test]
fn a_table_of_percentiles_is_a_histogram_of_its_steps() {
    let all = report("hgrm", fixture!("hdr.hgrm"));
    let table = counted(&all.loads[0]);
    assert_eq!((table.count(), table.max_ns()), (6000, 655_000));
    let p90 = table.quantile_ns(0.9).expect("not empty");
    assert!((151_000..=151_600).contains(&p90), "{p90}");
    // The step before 0.151 is 0.143: this is the uncertainty.
    assert!(
        (0.05..0.07).contains(&table.uncertainty(p90)),
        "{}",
        table.uncertainty(p90)
    );
    assert!(
        fault("hgrm", b"Value Percentile TotalCount\n2 0.1 5\n1 0.2 6\n").contains("line 3, Value")
    );
    assert!(fault("hgrm", b"nothing").contains("no table"));
    assert!(fault("hgrm", posted!("torn.hgrm")).contains("table: the table is cut off"));
    let whole = fixture!("hdr.hgrm");
    let text = std::str::from_utf8(whole).expect("text");
    let without_row: String = text
        .lines()
        .filter(|line| line.split_whitespace().nth(2) != Some("6000"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(fault("hgrm", without_row.as_bytes()).contains("but the rows count"));
    assert!(fault("hgrm", &[whole.as_slice(), whole].concat()).contains("a second table"));
    assert!(fault("hgrm", &fixture!("wrk2.txt").repeat(2)).contains("a second table"));
    // In a German locale.
    let commas = report("hgrm", text.replace('.', ",").as_bytes());
    assert_eq!(counted(&commas.loads[0]), table);
}

#[test]
fn benchmarks_keep_their_names() {
    let go = report("go", fixture!("go.txt"));
    assert_eq!(go.loads[0].name.as_deref(), Some("Alloc-2"));
    assert_eq!(values(&go.loads[0]), [1.674e-6, 1.632e-6, 1.303e-6]);
    assert_eq!(values(&go.loads[1]), [2.785e-6, 2.689e-6, 2.561e-6]);
    let google = report("google-benchmark", fixture!("google-benchmark.json"));
    assert_eq!(values(&google.loads[0]).len(), 3);
    assert!((values(&google.loads[0])[0] - 1.323_548_068_943_940_5e-7).abs() < 1e-20);
    assert_eq!(google.loads[2].errors, Some(1));
    assert_eq!(google.loads[2].latency, None);
    let hyperfine = report("hyperfine", fixture!("hyperfine.json"));
    assert_eq!(hyperfine.loads[0].name.as_deref(), Some("sleep 0.01"));
    assert_eq!(values(&hyperfine.loads[0]).len(), 5);
    assert!(fault("hyperfine", b"{\n\"results\": 1}").contains("results"));
    assert!(fault("hyperfine", b"{\n!").starts_with("line 2, JSON"));
}

#[test]
fn jmh_has_four_modes() {
    let jmh = report("jmh", fixture!("jmh.json"));
    let named = |name: &str| {
        let found = jmh
            .loads
            .iter()
            .find(|load| load.name.as_deref() == Some(name));
        found.unwrap_or_else(|| panic!("{name}"))
    };
    assert_eq!(
        named("List.add size=16").throughput,
        [3_524_193.0, 3_440_045.5]
    );
    assert_eq!(values(named("List.mean")), [2.5e-8, 2.6e-8]);
    let sampled = counted(&named("List.sample").latency.clone().map_or_else(
        || panic!("no latency"),
        |latency| Load {
            latency: Some(latency),
            ..Load::default()
        },
    ))
    .clone();
    assert_eq!((sampled.count(), sampled.max_ns()), (7, 90_000));
    assert!(
        fault(
            "jmh",
            b"[{\"benchmark\":\"a.b\",\"primaryMetric\":{\"scoreUnit\":\"x\"}}]"
        )
        .starts_with("a.b.scoreUnit")
    );
}

#[test]
fn memtier_counts_where_it_can() {
    let old = report("memtier", fixture!("memtier.json"));
    assert_eq!(old.pacing, Pacing::Closed);
    let load = &old.loads[0];
    assert_eq!(quantile(load, Quantile::P999), Some(0.002_1));
    assert_eq!((load.requests, load.throughput[0]), (Some(6000), 1000.5));
    // The same with a histogram, which then has priority: the one of the library's own log.
    let log = std::str::from_utf8(fixture!("hdr.hlog")).expect("text");
    let line = log
        .lines()
        .find(|line| line.starts_with("0.000"))
        .expect("an interval");
    let compressed = line.rsplit(',').next().expect("four fields");
    let text = std::str::from_utf8(fixture!("memtier.json")).expect("text");
    let with = text.replace(
        "\"p50.00\"",
        &format!(
            "\"Histogram log format\": {{\"Compressed Histogram\": \"{compressed}\"}}, \"p50.00\""
        ),
    );
    let new = report("memtier", with.as_bytes());
    assert_eq!(counted(&new.loads[0]).count(), 2000);
    assert!(fault("memtier", b"{}").contains("--run-count"));
}

#[test]
fn tables_and_lines_are_read_by_name() {
    let csv = b"url,took_ms\n/a,1.5\n\"/b,c\",0.25\n";
    let all = report("csv:took_ms", csv);
    assert_eq!(
        counted(&all.loads[0]).rows().map(|(_, n)| n).sum::<u64>(),
        2
    );
    assert_eq!(counted(&all.loads[0]).max_ns(), 1_500_000);
    assert_eq!(
        counted(&report("csv:1@us", b"5\n7\n").loads[0]).max_ns(),
        7_000
    );
    assert!(fault("csv:took_ms", b"url,time\n").contains("there are: url, time"));
    assert!(fault("csv:took_ms", b"took_ms\nabc\n").starts_with("line 2, took_ms: `abc`"));
    let jsonl = b"{\"r\":{\"us\":12.5}}\n\n{\"r\":{\"us\":\"3\"}}\n";
    assert_eq!(
        counted(&report("jsonl:r.us", jsonl).loads[0]).max_ns(),
        12_500
    );
    assert!(fault("jsonl:r.us", b"{\"r\":{}}").starts_with("line 1, r.us"));
}

#[test]
fn readings_have_names_units_and_reasons() {
    let bytes: &[u8] = fixture!("redis-benchmark.txt");
    let (readings, pacing) = docs("redis-benchmark", &[("stdout".into(), bytes)]);
    assert_eq!(pacing, Some(Pacing::Closed));
    assert_eq!(readings["set_latency_p99_seconds"], Reading::of(0.004_287));
    assert_eq!(readings["get_requests_total"], Reading::of(20_000.0));
    for name in readings.keys() {
        let metric = crate::run::metric::find(name).unwrap_or_else(|| panic!("{name}"));
        assert!(metric.label.starts_with("set ") || metric.label.starts_with("get "));
    }
    let (readings, pacing) = docs("wrk", &[("stdout".into(), b"".as_slice())]);
    assert_eq!(pacing, None);
    let Reading::Missing {
        missing: Missing::Unreadable { error },
    } = &readings["throughput_per_second"]
    else {
        panic!("{readings:?}");
    };
    assert_eq!(
        error,
        "wrk, stdout: Requests/sec: wrk printed no such line; this reads what `wrk --latency` writes"
    );
    let (readings, _) = docs("wrk", &[]);
    assert!(format!("{readings:?}").contains("nothing to read"));
}

#[test]
fn several_files_are_one_only_where_requests_were_counted() {
    let two = |text: &str, bytes: &'static [u8]| {
        docs(text, &[("a".into(), bytes), ("b".into(), bytes)]).0
    };
    let logs = two("pgbench-log", fixture!("pgbench.log"));
    let Reading::Histogram { histogram } = &logs["latency_seconds"] else {
        panic!("{logs:?}");
    };
    assert_eq!(histogram.count(), 400);
    assert!(format!("{:?}", two("wrk", fixture!("wrk.txt"))).contains("cannot be merged"));
    let twice = b"BenchmarkA/x-2 1 5 ns/op\nBenchmarkA_x-2 1 5 ns/op\n";
    assert!(format!("{:?}", two("go", twice)).contains("cannot be merged"));
    let (one, _) = docs("go", &[("a".into(), twice.as_slice())]);
    assert_eq!(one["a_slash_x_dash_2_latency_seconds"], Reading::of(5e-9));
    assert_eq!(
        one["a_underscore_x_dash_2_latency_seconds"],
        Reading::of(5e-9)
    );
    let again = fixture!("redis-benchmark.txt").repeat(2);
    let (again, _) = docs("redis-benchmark", &[("a".into(), again.as_slice())]);
    assert!(
        format!("{again:?}").contains("`SET` is there twice"),
        "{again:?}"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        for source in LatencySource::of_each_reader() {
            let _ = read(&source, Ok(vec![("x".to_owned(), bytes.clone())]));
        }
    }

    #[test]
    fn damaged_output_is_read_or_refused(which in 0_usize..15, at: usize, byte: u8, cut: bool) {
        let all: [(&str, &[u8]); 15] = [
            ("wrk", fixture!("wrk.txt")),
            ("wrk2", fixture!("wrk2.txt")),
            ("redis-benchmark", fixture!("redis-benchmark.txt")),
            ("redis-benchmark", fixture!("redis-benchmark.csv")),
            ("pgbench-log", fixture!("pgbench-rate.log")),
            ("hgrm", fixture!("hdr.hgrm")),
            ("jmh", fixture!("jmh.json")),
            ("google-benchmark", fixture!("google-benchmark.json")),
            ("memtier", fixture!("memtier.json")),
            ("vegeta", posted!("vegeta.json")),
            ("hey", posted!("hey.csv")),
            ("oha", posted!("oha.json")),
            ("locust", posted!("locust_stats.csv")),
            ("fio", posted!("fio.json")),
            ("k6", posted!("k6.jsonl")),
        ];
        let (reader, bytes) = all[which];
        let mut bytes = bytes.to_vec();
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        let (readings, _) = docs(reader, &[("x".into(), bytes.as_slice())]);
        prop_assert!(!readings.is_empty());
    }
}
