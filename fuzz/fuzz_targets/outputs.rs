//! What other programs print: latencies, what a bench measured, what a runtime says of its
//! settings, and recordings of `stat`. Read or refused, never a panic.
#![no_main]

use std::sync::LazyLock;

use hugewise_model::bench::line;
use hugewise_model::policy::{Settings, runtime};
use hugewise_model::reader::{LatencySource, read};
use hugewise_model::stat;

static SOURCES: LazyLock<Vec<LatencySource>> = LazyLock::new(|| {
    [
        "wrk",
        "wrk2",
        "redis-benchmark",
        "memtier",
        "pgbench-log",
        "hdr-log",
        "hgrm",
        "jmh",
        "google-benchmark",
        "go",
        "hyperfine",
        "csv:a@ms",
        "jsonl:a@ms",
    ]
    .into_iter()
    .map(|text| text.parse().expect("a source that the documents name"))
    .collect()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for source in SOURCES.iter() {
        let _ = read(source, Ok(vec![("x".to_owned(), bytes.to_vec())]));
    }
    let _ = line::parse(bytes);
    let _ = stat::parse(bytes);
    let _ = runtime::parse_flags(bytes, &Settings::default());
    let _ = runtime::parse_tunables(bytes);
});
