//! What a user types: accepted, or refused with a sentence; never a panic.
#![no_main]

use hugewise_model::gate::Gate;
use hugewise_model::plan::PrintedMetric;
use hugewise_model::policy::Policy;
use hugewise_model::quantity::{parse_duration, parse_size};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = parse_size(text);
    let _ = parse_duration(text);
    let _ = text.parse::<Gate>();
    let _ = text.parse::<PrintedMetric>();
    if let Ok(policy) = text.parse::<Policy>() {
        let canonical = policy.settings.to_string();
        let again: Policy = canonical.parse().expect("what is written can be read");
        assert_eq!(again.settings, policy.settings);
    }
});
