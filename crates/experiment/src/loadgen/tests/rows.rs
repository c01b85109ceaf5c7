//! The rows that count as requests, and the failed ones.

use super::{counted, fault, report};

/// The answered requests, the failed ones, and the longest in nanoseconds.
fn read(source: &str, bytes: &[u8]) -> (Option<u64>, Option<u64>, u64) {
    let load = report(source, bytes).loads.remove(0);
    (load.requests, load.errors, counted(&load).max_ns())
}

#[test]
fn rows_of_other_metrics_do_not_count() {
    let only = "csv:metric_value@ms,where=metric_name=http_req_duration";
    assert_eq!(read(only, posted!("k6.csv")), (Some(1), None, 213_399_901));
    let lines = "jsonl:data.value@ms,where=type=Point,where=metric=http_req_duration";
    assert_eq!(
        read(lines, posted!("k6.jsonl")),
        (Some(1), None, 213_400_000)
    );
    let other = fault("csv:metric_value@ms,where=metric_name=x", posted!("k6.csv"));
    let named = "metric_name: it is x nowhere; there are: http_reqs, http_req_duration";
    assert_eq!(other, named);
    assert!(
        fault("csv:metric_value@ms,where=m=x", posted!("k6.csv"))
            .contains("no column has that name")
    );
    let numbers = b"{\"op\":3,\"us\":1}\n{\"op\":4,\"us\":2}\n{\"us\":9}\n";
    assert_eq!(read("jsonl:us,where=op=4", numbers), (Some(1), None, 2_000));
}

#[test]
fn failed_requests_have_no_latency() {
    let jmeter = b"elapsed,label,success\n5,a,true\n9000,a,false\n7,b,true\n";
    assert_eq!(
        read("csv:elapsed@ms,ok=success", jmeter),
        (Some(2), Some(1), 7_000_000)
    );
    let home = "csv:elapsed@ms,where=label=a,ok=success";
    assert_eq!(read(home, jmeter), (Some(1), Some(1), 5_000_000));
    let status = b"3,200\n0,0\n4,503\n";
    assert_eq!(read("csv:1@us,status=2", status), (Some(1), Some(2), 3_000));
    let error =
        b"{\"us\":3,\"error\":\"\"}\n{\"us\":4,\"error\":\"EOF\"}\n{\"us\":5,\"error\":null}\n";
    assert_eq!(
        read("jsonl:us,failed=error", error),
        (Some(2), Some(1), 5_000)
    );
    // Output with only failures is a count of failures, not an error of the source.
    assert_eq!(read("csv:1@us,status=2", b"0,0\n"), (Some(0), Some(1), 0));
}
