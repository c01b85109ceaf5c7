//! Deviations of tools from their own formats, and missing parts.

use super::{counted, docs, fault, quantile, report, values};
use crate::run::stats::Quantile;

#[test]
fn aggregates_of_an_old_google_benchmark_are_left_out() {
    let names = |bytes: &[u8]| {
        let loads = report("google-benchmark", bytes).loads.into_iter();
        let names = loads.map(|load| load.name.unwrap_or_default());
        names.collect::<Vec<_>>()
    };
    let old = posted!("google-benchmark-1.4.json");
    assert_eq!(names(old), ["a"]);
    assert_eq!(
        values(&report("google-benchmark", old).loads[0]),
        [0.447, 0.444]
    );
    let fit = br#"{"benchmarks":[{"name":"s/8","real_time":1,"time_unit":"ns"},
        {"name":"s_BigO","cpu_coefficient":1,"real_coefficient":2,"big_o":"N","time_unit":"ns"},
        {"name":"s_RMS","rms":0.1}]}"#;
    assert_eq!(names(fit), ["s/8"]);
    let alone = br#"{"benchmarks":[{"name":"a_mean","real_time":1,"time_unit":"ns"},
        {"name":"a_stddev","real_time":1,"time_unit":"ns"}]}"#;
    assert!(fault("google-benchmark", alone).contains("report_aggregates_only"));
    let mean = br#"{"benchmarks":[{"name":"BM_mean","real_time":1,"time_unit":"ns"}]}"#;
    assert_eq!(names(mean), ["BM_mean"], "a benchmark may be called so");
    let families = br#"{"benchmarks":[{"name":"a","family_index":0,"real_time":1,"time_unit":"ns"},
        {"name":"a","family_index":1,"real_time":9,"time_unit":"ns"}]}"#;
    assert_eq!(names(families), ["a family=0", "a family=1"]);
}

#[test]
fn no_number_is_null() {
    let memtier = report("memtier", posted!("memtier-nan.json"));
    assert_eq!(quantile(&memtier.loads[0], Quantile::P50), Some(2.000_895));
    let inf = br#"{"ALL STATS":{"Totals":{"Count":3,"Ops/sec":0.5,"Hits/sec":inf,"x":[NaN,-inf],"y":"\"-nan",
        "Max Latency":-nan,"Percentile Latencies":{"p50.00":nan,"p99.00":2.0}}}}"#;
    let inf = report("memtier", inf);
    assert_eq!(quantile(&inf.loads[0], Quantile::P50), None);
    assert_eq!(quantile(&inf.loads[0], Quantile::Max), None);
    assert_eq!(quantile(&inf.loads[0], Quantile::P99), Some(0.002));
    let broken = b"{\"ALL STATS\":{\n\"Totals\":nanx}}";
    assert!(fault("memtier", broken).starts_with("line 2, JSON"));
}

#[test]
fn a_mark_of_the_order_of_bytes_is_passed_over() {
    let csv = report("csv:elapsed@ms", posted!("byte-order-mark.csv"));
    assert_eq!(counted(&csv.loads[0]).max_ns(), 12_000_000);
    let hyperfine = b"\xef\xbb\xbf{\"results\":[{\"command\":\"a\",\"times\":[1.0]}]}";
    assert_eq!(values(&report("hyperfine", hyperfine).loads[0]), [1.0]);
    assert!(fault("csv:1@ms", b"\xff\xfe1\x00").contains("UTF-16"));
}

#[test]
fn cells_may_hold_line_breaks_and_decimal_commas() {
    let max = |source: &str, bytes: &[u8]| counted(&report(source, bytes).loads[0]).max_ns();
    let jmeter = report("csv:elapsed@ms", posted!("jmeter-newline.csv"));
    assert_eq!(counted(&jmeter.loads[0]).count(), 2);
    assert_eq!(counted(&jmeter.loads[0]).max_ns(), 10_012_000_000);
    let last = b"a,elapsed\n\"x\n\n\"\"y\"\"\",7\n";
    assert_eq!(max("csv:elapsed@ms", last), 7_000_000);
    assert_eq!(max("csv:t@ms", b"t,url\n\"0,016\",/a\n"), 16_000);
    assert_eq!(max("csv:t@ms", b"url;t\n/a,b;1,205\n"), 1_205_000);
    assert_eq!(max("csv:1@s", b"0.5;GET\n1,25;GET\n"), 1_250_000_000);
    assert_eq!(max("csv:2@s", b"GET\t2\nGET\t3\n"), 3_000_000_000);
    let thousands = fault("csv:t@ms", b"t\n\"1,205\"\n");
    assert!(
        thousands.starts_with("line 2, t: `1,205`: the comma may be"),
        "{thousands}"
    );
    assert!(fault("csv:1@s", b"5,7;8\n").contains("`5` or `5,7`: it is not clear what parts"));
    assert!(fault("csv:2@s", b"GET;0,5\n").contains("not clear what parts"));
    assert!(fault("csv:t@ms", b"t,m\n5,\"x\n6,y\n").starts_with("line 2, row: a quote"));
}

#[test]
fn a_torn_last_row_leaves_the_others() {
    let count = |source: &str, bytes: &[u8]| counted(&report(source, bytes).loads[0]).count();
    assert_eq!(count("csv:2@ms", b"a,5\nb,6\nc"), 2);
    assert_eq!(count("csv:t@ms", b"m,t\na,5\n\"b"), 1);
    assert_eq!(count("jsonl:ms", b"{\"ms\":5}\n{\"ms\":6}\n{\"m"), 2);
    assert!(fault("jsonl:ms", b"{\"ms\":5}\n{\"m\n").starts_with("line 2, JSON"));
    assert!(fault("csv:2@ms", b"a,5\nc\n").starts_with("line 2, 2: the row has 1 cells"));
}

/// The screen output of a program is not its file; the reason shows the option that writes the file.
#[test]
fn what_a_reader_wants_is_named() {
    for (reader, wanted) in [
        ("oha", "`oha --output-format json`"),
        ("hey", "`hey -o csv`"),
        ("pgbench-log", "`pgbench -l`"),
        ("locust", "`locust --csv PREFIX`"),
    ] {
        let (readings, _) = docs(reader, &[("stdout".into(), b"Summary:\n  Total: 1 secs\n")]);
        let reasons: Vec<String> = readings.values().map(|it| format!("{it:?}")).collect();
        assert!(reasons.iter().all(|it| it.contains(wanted)), "{reasons:?}");
    }
}
