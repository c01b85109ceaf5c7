//! Output of other programs: latencies, measurements of a bench, settings of a runtime, and recordings of `stat`.
//! It is parsed or refused, without a panic.
#![no_main]

use hugewise_bench::line;
use hugewise_experiment::loadgen::read;
use hugewise_experiment::run::plan::LatencySource;
use hugewise_experiment::run::policy::{Settings, runtime};
use hugewise_observe::stat;

/// Tables and lines of JSON with the columns of the seeds.
const WITH_FIELDS: [&str; 4] = [
    "csv:elapsed@ms,ok=success",
    "csv:3@ns,began=1@ns,status=2",
    "csv:metric_value@ms,where=metric_name=http_req_duration",
    "jsonl:latency@ns,began=timestamp@ns,status=code",
];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let with_fields = WITH_FIELDS.iter().filter_map(|text| text.parse().ok());
    for source in LatencySource::of_each_reader().chain(with_fields) {
        let _ = read(&source, Ok(vec![("x".to_owned(), bytes.to_vec())]));
    }
    let _ = line::parse(bytes);
    let _ = stat::parse(bytes);
    let _ = runtime::parse_flags(bytes, &Settings::default());
    let _ = runtime::parse_tunables(bytes);
});
