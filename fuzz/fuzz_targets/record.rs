//! Records from any source: parsed, or refused with a message. A parsed record is written back unchanged.
#![no_main]

use hugewise_experiment::run::record::{Line, parse, to_line};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(record) = parse(bytes) {
        for trial in record.trials {
            let line = to_line(&Line::Trial(trial));
            assert!(!line.trim_end().contains('\n'), "one line a trial");
        }
    }
});
