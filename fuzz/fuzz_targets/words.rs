//! Input typed by a user: accepted, or refused with a message, without a panic.
#![no_main]

use hugewise_base::units::{parse_duration, parse_size};
use hugewise_experiment::run::cells::BenchCell;
use hugewise_experiment::run::gate::Gate;
use hugewise_experiment::run::plan::PrintedMetric;
use hugewise_experiment::run::plan::service::{CommandLine, Ready, StopSignal};
use hugewise_experiment::run::plan::{LatencySource, TimeUnit};
use hugewise_experiment::run::policy::{Axis, Policy};

fn settings(text: &str) {
    let Ok(policy) = text.parse::<Policy>() else {
        return;
    };
    let canonical = policy.settings.to_string();
    let again: Policy = canonical.parse().expect("what is written can be read");
    assert_eq!(again.settings, policy.settings);
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = parse_size(text);
    let _ = parse_duration(text);
    let _ = text.parse::<Axis>();
    let _ = text.parse::<BenchCell>();
    let _ = text.parse::<CommandLine>();
    let _ = text.parse::<Gate>();
    let _ = text.parse::<LatencySource>();
    let _ = text.parse::<PrintedMetric>();
    let _ = text.parse::<Ready>();
    let _ = text.parse::<StopSignal>();
    let _ = text.parse::<TimeUnit>();
    settings(text);
});
