//! The lines of a recording: parsed, or refused with a message.

use hugewise_base::jsonl::{Line, RawLine};
use hugewise_observe::faults;
use hugewise_tlb::misses;
use proptest::prelude::*;

const MISSES: &str = include_str!("../../../fixtures/misses/server.jsonl");

fn try_line<L: Line>(bytes: &[u8]) {
    for number in [1, 2] {
        let raw = RawLine {
            number,
            bytes,
            ended: true,
        };
        if let Err(fault) = raw.read::<L>() {
            assert!(!fault.to_string().is_empty());
        }
    }
}

proptest! {
    #[test]
    fn any_line_of_a_recording_is_read_or_refused(bytes: Vec<u8>) {
        try_line::<faults::Event>(&bytes);
        try_line::<misses::Event>(&bytes);
    }

    #[test]
    fn a_damaged_recording_is_read_or_refused(line: usize, at: usize, byte: u8, cut: bool) {
        let lines: Vec<&str> = MISSES.lines().collect();
        let mut bytes = lines[line % lines.len()].as_bytes().to_vec();
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        try_line::<misses::Event>(&bytes);
        try_line::<faults::Event>(&bytes);
    }
}
