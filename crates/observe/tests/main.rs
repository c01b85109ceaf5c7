//! The instruments, each from its events to what it prints.

#[path = "../../experiment/tests/documented/mod.rs"]
mod documented;
mod faults;
mod inspection;
mod progress;
mod reason;
mod trace;

use hugewise_base::jsonl::{Line, LineError, RawLine};

/// Reads a whole line of a recording.
fn read<L: Line>(number: usize, line: &str) -> Result<L, LineError> {
    let raw = RawLine {
        number,
        bytes: line.trim_end().as_bytes(),
        ended: true,
    };
    raw.read().map(|event| event.expect("a whole line"))
}
