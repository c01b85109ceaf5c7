//! Records of the kernel's rings, truncated or malformed, and the events parsed from a recording's lines.
#![no_main]

use hugewise_base::jsonl::RawLine;
use hugewise_linux::perf::sample::{Layout, Record, parse_record};
use hugewise_observe::faults;
use hugewise_tlb::misses;

/// Every requested layout, by the lowest bits of the identity.
fn layout(id: u64) -> Option<Layout> {
    (id & 32 == 0).then_some(Layout {
        code: id & 16 != 0,
        stack: id & 1 != 0,
        raw: id & 8 != 0,
        physical: id & 2 != 0,
        page_size: id & 4 != 0,
    })
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(Record::Sample(sample)) = parse_record(bytes, layout) {
        let frames = sample.stack.unwrap_or_default().len();
        assert!(8 * frames <= bytes.len(), "no more frames than bytes");
    }
    for number in [1, 2] {
        let raw = RawLine {
            number,
            bytes,
            ended: true,
        };
        let _ = raw.read::<faults::Event>();
        let _ = raw.read::<misses::Event>();
    }
});
