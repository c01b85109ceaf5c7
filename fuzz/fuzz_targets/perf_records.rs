//! Records of the kernel's rings, torn or strange, and what is made of a recording's lines.
#![no_main]

use hugewise_linux::perf::sample::{Layout, Record, parse_record};
use hugewise_model::fault;
use hugewise_model::recording::read;

/// Every layout that is asked for, by the lowest bits of the identity.
fn layout(id: u64) -> Option<Layout> {
    (id & 8 == 0).then_some(Layout {
        stack: id & 1 != 0,
        physical: id & 2 != 0,
        page_size: id & 4 != 0,
    })
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(Record::Sample(sample)) = parse_record(bytes, layout) {
        let frames = sample.stack.unwrap_or_default().len();
        assert!(8 * frames <= bytes.len(), "no more frames than bytes");
    }
    let _ = read::<fault::Analysis>(1, bytes);
});
