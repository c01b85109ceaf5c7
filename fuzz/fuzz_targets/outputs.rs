//! What other programs print: latencies, what a bench measured, what a runtime says of its
//! settings, and recordings of `stat`. Read or refused, never a panic.
#![no_main]

use hugewise_bench::line;
use hugewise_experiment::loadgen::read;
use hugewise_experiment::run::plan::LatencySource;
use hugewise_experiment::run::policy::{Settings, runtime};
use hugewise_observe::stat;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for source in LatencySource::of_each_reader() {
        let _ = read(&source, Ok(vec![("x".to_owned(), bytes.to_vec())]));
    }
    let _ = line::parse(bytes);
    let _ = stat::parse(bytes);
    let _ = runtime::parse_flags(bytes, &Settings::default());
    let _ = runtime::parse_tunables(bytes);
});
