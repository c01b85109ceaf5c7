//! Tests sites of memory never mapped.

use super::*;
use crate::spawn::tracer::allocation::MOST_PARTS;

const MIB: u64 = 1 << 20;

fn sites(choice: &str) -> Sites {
    Sites::new(choice.parse().expect("a choice"), 2 * MIB)
}

fn at(start: u64, mib: u64) -> Range {
    Range::of(start * MIB, mib * MIB)
}

/// Returns true if all of a range is to be huge.
fn is_huge(sites: &mut Sites, of: (i32, i32), origin: Origin, range: Range) -> bool {
    let advised = sites.has_got(of, origin, range);
    assert_eq!(advised.len(), 1, "{advised:?}");
    advised[0].1
}

fn names(sites: &Sites) -> Vec<(String, u64, u64)> {
    let named = |it: &MappedSite| (it.site.to_string(), it.mappings, it.bytes / MIB);
    sites.mapped().iter().map(named).collect()
}

#[test]
fn mappings_are_counted_by_class_and_process() {
    let mut sites = sites("mapping:2-16m+heap");
    let one = (1, 1);
    assert!(!is_huge(&mut sites, one, Origin::Mapped, at(100, 16)));
    assert!(!is_huge(&mut sites, one, Origin::Mapped, at(200, 64)));
    assert!(is_huge(&mut sites, one, Origin::Mapped, at(300, 20)));
    assert!(is_huge(&mut sites, one, Origin::Heap, at(10, 4)));
    assert!(
        !is_huge(&mut sites, (5, 5), Origin::Mapped, at(300, 16)),
        "another process"
    );
    let expected = [
        ("1-16m", 2, 32),
        ("1-64m", 1, 64),
        ("2-16m", 1, 20),
        ("heap", 1, 4),
    ];
    assert_eq!(
        names(&sites),
        expected.map(|(name, n, mib)| (name.to_owned(), n, mib))
    );
}

#[test]
fn memory_that_moves_keeps_its_site() {
    let mut sites = sites("mapping:1-16m");
    assert!(is_huge(&mut sites, (1, 1), Origin::Mapped, at(100, 16)));
    assert!(is_huge(
        &mut sites,
        (1, 1),
        Origin::Moved(100 * MIB),
        at(500, 128)
    ));
    assert!(
        !is_huge(&mut sites, (1, 1), Origin::Moved(900 * MIB), at(900, 128)),
        "unknown"
    );
}

#[test]
fn a_child_has_the_memory_of_its_parent_until_it_runs_another_program() {
    let mut sites = sites("mapping:1-16m");
    sites.has_got((1, 1), Origin::Mapped, at(100, 16));
    sites.fork(1, 2);
    assert!(
        !is_huge(&mut sites, (2, 2), Origin::Mapped, at(300, 16)),
        "its second"
    );
    sites.forget(2);
    assert!(
        is_huge(&mut sites, (2, 2), Origin::Mapped, at(300, 16)),
        "its first"
    );
}

#[test]
fn memory_that_is_placed_in_a_reservation_belongs_to_it() {
    let mut sites = sites("mapping:1-64m");
    let one = (1, 1);
    assert!(is_huge(&mut sites, one, Origin::Mapped, at(1024, 64)));
    assert!(is_huge(&mut sites, one, Origin::Placed, at(1024, 4)));
    assert!(!is_huge(&mut sites, one, Origin::Placed, at(2048, 4)));
    let advised = sites.has_got(one, Origin::Placed, at(1080, 16));
    assert_eq!(advised, [(at(1080, 8), true), (at(1088, 8), false)]);
    let expected = [("1-64m", 3, 64), ("1-4m", 1, 4), ("1-8m", 1, 8)];
    let expected = expected.map(|(name, n, mib)| (name.to_owned(), n, mib));
    assert_eq!(names(&sites), expected);
}

#[test]
fn an_arena_is_cut_where_blocks_end() {
    let mut sites = sites("chunk-64m:1-256m.2+1-256m.3+heap.2");
    let one = (1, 1);
    let advised = sites.has_got(one, Origin::Mapped, at(1023, 300));
    let expected = [
        (at(1023, 63), false),
        (at(1086, 128), true),
        (at(1214, 109), false),
    ];
    // The first part starts at the block that contains the start of the arena.
    assert_eq!(advised, expected);
    let placed = sites.has_got(one, Origin::Placed, at(1076, 20));
    assert_eq!(placed, [(at(1076, 10), false), (at(1086, 10), true)]);
    for (range, is) in [(at(10, 40), false), (at(50, 10), false), (at(60, 20), true)] {
        let advised = sites.has_got(one, Origin::Heap, range);
        let (_, last) = advised.last().expect("a part");
        assert_eq!(*last, is, "{range:?}");
    }
}

#[test]
fn a_reservation_without_end_has_no_more_parts_than_are_told_apart() {
    let mut sites = sites("chunk-2m:none");
    sites.has_got((1, 1), Origin::Mapped, at(1024, 1 << 20));
    assert_eq!(sites.mapped.len() as u64, MOST_PARTS);
    let total: u64 = sites.mapped.iter().map(|it| it.bytes).sum();
    assert_eq!(total, MIB << 20);
}

/// This number exceeds every PID, so the memory of the process is empty.
const NOBODY: i32 = i32::MAX;

#[test]
fn a_try_that_is_given_up_is_no_site() {
    let mut sites = sites("chunk-64m:1-256m.1");
    let one = (NOBODY, NOBODY);
    sites.has_got(one, Origin::Mapped, at(1024, 256));
    sites.loses(NOBODY, at(1024, 256));
    assert_eq!(names(&sites), [("1-256m.1".to_owned(), 0, 0)]);
    let advised = sites.has_got(one, Origin::Mapped, at(2048, 256));
    assert_eq!(advised, [(at(2048, 64), true), (at(2112, 192), false)]);
}

#[test]
fn memory_whose_edge_is_given_up_keeps_its_number() {
    let mut sites = sites("mapping:2-16m");
    let one = (NOBODY, NOBODY);
    sites.has_got(one, Origin::Mapped, at(1024, 16));
    sites.loses(NOBODY, at(1024, 4));
    assert!(is_huge(&mut sites, one, Origin::Mapped, at(2048, 16)));
}
