//! Whatever was read.

use hugewise_observe::address_space::{MappingKind, Pages, Run, VmFlags};
use hugewise_observe::inspect::reasons::{Wording, judge};
use hugewise_observe::inspect::view::Inspection;

use super::planted::{HUGE, PAGE, Planted, START, mapping, pages};
use proptest::prelude::*;

fn any_pages() -> impl Strategy<Value = Pages> {
    (
        0_u32..600,
        0_u32..600,
        0_u32..3,
        0_u32..3,
        0_u32..600,
        any::<bool>(),
    )
        .prop_map(|(present, file, huge, zero, swapped, known)| Pages {
            present,
            file,
            huge: known.then_some(huge * 256),
            zero: known.then_some(zero * 256),
            swapped,
            guard: known.then_some(swapped % 2),
            islands: 1,
            from_start: known,
            frames: None,
        })
}

proptest! {
    /// Whatever was read: every mapped byte has one reason, in order, without a gap.
    #[test]
    fn every_mapped_byte_has_one_reason(
        shape in proptest::collection::vec((0_u64..3000, 1_u64..3000, any_pages(), 0_usize..9), 0..9),
        words in proptest::collection::vec(0_usize..6, 0..3),
    ) {
        let flags = ["hg", "nh", "io", "um", "mg", "ht"];
        let kinds = [MappingKind::Anonymous, MappingKind::Heap, MappingKind::Stack, MappingKind::File, MappingKind::SharedMemory,
            MappingKind::Tmpfs, MappingKind::Hugetlb, MappingKind::Device, MappingKind::Kernel];
        let mut planted = Planted::with(pages(0));
        planted.space.mappings.clear();
        let mut at = START;
        for (gap, length, pages, kind) in shape {
            let mut one = mapping();
            one.start = at + gap * PAGE;
            one.end = one.start + length * PAGE;
            one.kind = kinds[kind];
            one.memory.as_mut().unwrap().flags = VmFlags::of(words.iter().map(|&w| flags[w]));
            let first = one.start.next_multiple_of(HUGE);
            if first + HUGE <= one.end {
                one.runs = vec![Run { start: first, end: first + HUGE, pages }];
            }
            at = one.end;
            planted.space.mappings.push(one);
        }
        let judgements = judge(&planted.space, &planted.settings, &Wording::All);
        for (index, mapping) in planted.space.mappings.iter().enumerate() {
            let mut at = mapping.start;
            for one in judgements.iter().filter(|one| one.mapping == index) {
                prop_assert_eq!(one.start, at);
                prop_assert!(one.end > one.start && one.ranges > 0);
                at = one.end;
            }
            prop_assert_eq!(at, mapping.end);
        }
        let inspection = Inspection::of(planted.space, planted.settings);
        let json = serde_json::to_string(&inspection).unwrap();
        prop_assert_eq!(serde_json::from_str::<Inspection>(&json).unwrap(), inspection);
    }
}
