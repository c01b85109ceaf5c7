//! The boundaries of ranges, the growth of mappings, and page sizes.

use hugewise_observe::address_space::{Mapping, Permissions, Run};
use hugewise_observe::inspect::reasons::{Code, Judgement, Wording, judge};
use hugewise_observe::inspect::view::Inspection;

use super::cases::case;
use super::planted::{HUGE, PAGE, Planted, START, file, huge, mapping, pages, single};

/// Steps of three ranges that do not end at boundaries: every third range is small.
#[test]
fn growth_across_borders_is_told_by_even_distances() {
    let mut planted = Planted::with(huge());
    let mapping = planted.mapping();
    mapping.end = START + 12 * HUGE;
    mapping.runs = (0..12)
        .map(|place| Run {
            start: START + place * HUGE,
            end: START + (place + 1) * HUGE,
            pages: if place % 3 == 1 { single(512) } else { huge() },
        })
        .collect();
    let even = Inspection::of(planted.space.clone(), planted.settings.clone());
    let [growth] = &even.growth[..] else {
        panic!("{:?}", even.growth);
    };
    assert_eq!((growth.ranges, growth.step_bytes), (4, Some(3 * HUGE)));
    planted.mapping().runs[11].pages = single(512);
    let uneven = Inspection::of(planted.space, planted.settings);
    assert!(uneven.growth.is_empty(), "{:?}", uneven.growth);
}

/// A mapping that begins inside a range, after a mapping of another kind of memory. The two could never be merged, so
/// the position of the mapping prevents the huge page.
#[test]
fn neighbours_of_another_kind_of_memory_split_nothing() {
    let beside = |change: fn(&mut Mapping)| {
        let mut planted = Planted::with(single(100));
        planted.cut(START, START + 100 * PAGE);
        let mut other = mapping();
        (other.start, other.end) = (START + 100 * PAGE, START + HUGE);
        other.permissions = Permissions(*b"r--p");
        change(&mut other);
        planted.space.mappings.push(other);
        judge(&planted.space, &planted.settings, &Wording::All)[0].code
    };
    assert_eq!(beside(|_| {}), Code::VmaSplit);
    let shared = beside(|other| other.permissions = Permissions(*b"rw-s"));
    assert_eq!(shared, Code::VmaSmall);
    assert_eq!(beside(|other| other.inode = 7), Code::VmaSmall);
    let guard = beside(|other| other.permissions = Permissions(*b"---p"));
    assert_eq!(guard, Code::VmaSmall, "a guard must stay one");
}

/// The segments of a program are adjacent and must stay separate, so there is nothing to fix.
#[test]
fn segments_of_a_program_have_no_fix() {
    let mut planted = file(single(100));
    planted.cut(START, START + 100 * PAGE);
    let mut code = planted.mapping().clone();
    (code.start, code.end) = (START + 100 * PAGE, START + HUGE);
    code.offset = 100 * PAGE;
    code.permissions = Permissions(*b"r-xp");
    code.runs.clear();
    planted.space.mappings.push(code);
    let judgements = judge(&planted.space, &planted.settings, &Wording::All);
    assert_eq!(
        (judgements[0].code, &judgements[0].repair),
        (Code::VmaSmall, &None)
    );
}

/// The ends of a thread stack have the same reason as its middle, whatever is next to them.
#[test]
fn all_of_a_stack_is_a_stack() {
    let mut planted = case(Code::MapStack);
    let stack = &mut planted.space.mappings[1];
    let pages = stack.runs[0].pages.clone();
    stack.end += 5 * PAGE;
    let (start, end) = (stack.end - 5 * PAGE, stack.end);
    stack.runs.push(Run { start, end, pages });
    let mut next = planted.space.mappings[0].clone();
    (next.start, next.end) = (end, end + PAGE);
    planted.space.mappings.push(next);
    let judgements = judge(&planted.space, &planted.settings, &Wording::All);
    let is_stack = |one: &&Judgement| one.mapping == 1;
    let mut of_stack = judgements.iter().filter(is_stack);
    assert!(of_stack.all(|one| one.code == Code::MapStack && one.repair.is_none()));
    assert_eq!(judgements.iter().rfind(is_stack).unwrap().end, end);
}

/// The parent shows who disabled huge pages.
#[test]
fn the_parent_tells_who_switched_huge_pages_off() {
    let said = |parent| {
        let mut planted = case(Code::PrctlDisabled);
        planted.space.process.parent_thp_enabled = parent;
        planted.only().evidence.join("; ")
    };
    assert!(said(Some(true)).contains("the program itself"));
    assert!(said(Some(false)).contains("inherited"));
    assert!(said(None).ends_with("its parent is process 1"));
}

#[test]
fn the_ends_of_a_mapping_are_judged_apart_from_its_middle() {
    let mut planted = Planted::with(huge());
    let mapping = planted.mapping();
    mapping.start -= PAGE;
    mapping.end += 3 * PAGE;
    mapping.runs.insert(
        0,
        Run {
            start: START - PAGE,
            end: START,
            pages: pages(1),
        },
    );
    let judgements = judge(&planted.space, &planted.settings, &Wording::All);
    let seen: Vec<_> = judgements
        .iter()
        .map(|one| (one.start, one.end, one.ranges, one.code))
        .collect();
    let end = START + 4 * HUGE;
    assert_eq!(
        seen,
        [
            (START - PAGE, START, 1, Code::VmaSmall),
            (START, end, 4, Code::AlreadyPmd),
            (end, end + 3 * PAGE, 1, Code::Untouched),
        ]
    );
}

#[test]
fn sizes_of_other_hosts_are_no_constants() {
    let huge = 32 << 20;
    let mut planted = Planted::with(single(2048));
    planted.space.page_bytes = 16 << 10;
    planted.space.huge_bytes = huge;
    planted.thp().pmd_bytes = huge;
    planted.thp().sizes.clear();
    planted.cut(START, START + huge);
    let one = planted.only();
    assert_eq!((one.code, one.ranges), (Code::PteTableExists, 1));
    assert_eq!(one.resident_bytes, Some(huge));
    assert!(one.evidence[0].starts_with("2048 of 2048 pages"), "{one:?}");
}
