//! The lines of a recording of `watch`: taken, or refused with a sentence.

use hugewise_base::jsonl::RawLine;
use hugewise_monitor::watch::Line;
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_line_of_a_recording_is_read_or_refused(bytes: Vec<u8>) {
        for number in [1, 2] {
            let raw = RawLine { number, bytes: &bytes, ended: true };
            if let Err(fault) = raw.read::<Line>() {
                prop_assert!(!fault.to_string().is_empty());
            }
        }
    }
}
