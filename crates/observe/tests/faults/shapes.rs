//! The shapes that faults form.

use hugewise_observe::faults::{FaultKind, Shape, Sharing};

use super::script::{BASE, HUGE, PAGE, Script, conditions};

#[test]
fn copies_after_one_fork_are_told_once() {
    let told = |forks| {
        let shape = Shape::CopiesAfterFork {
            forks,
            copies: 2570,
            time_ns: 7_310_000,
            largest: 2570,
            span_ns: 23_500_000,
        };
        shape.sentence(&conditions())
    };
    let one = told(1);
    assert!(
        one.contains("after a fork (7.31 ms, within 23.5 ms)"),
        "{one}"
    );
    assert_eq!(one.matches("2570").count(), 1, "{one}");
    let several = told(3);
    assert!(several.contains("after 3 forks"), "{several}");
}

#[test]
fn second_faults_are_added_up_by_site_and_equal_sites_stand_in_order_of_name() {
    let site = |chains: &[u64]| {
        let mut script = Script::new(conditions());
        script.map_as("/bin/a", Sharing::Private, 0x40_0000, 0x10_0000, 0);
        script.map_as("/bin/b", Sharing::Private, 0x50_0000, 0x10_0000, 0);
        script.map(BASE, HUGE);
        for (&place, page) in chains.iter().zip(0..) {
            script.fault(1, BASE + page * PAGE, PAGE, 0, 100);
            script.fault(1, BASE + page * PAGE, PAGE, 0x1000, 100);
            script.last().stack = vec![place];
        }
        match script.summary().shapes.swap_remove(0) {
            Shape::DoubleFault { site, at_site, .. } => (site.expect("a site"), at_site),
            other => panic!("{other:?}"),
        }
    };
    // The sum of two chains of one function exceeds the longest chain of another.
    let added_up = site(&[0x50_1000, 0x50_1000, 0x40_1000, 0x40_2000, 0x40_3000]);
    assert_eq!(added_up, ("[a]".to_owned(), 3));
    for _ in 0..20 {
        assert_eq!(site(&[0x50_1000, 0x40_1000]), ("[a]".to_owned(), 1));
    }
}

#[test]
fn double_faults_are_told_in_the_singular_and_the_plural() {
    let told = |faults, at_site| {
        let shape = Shape::DoubleFault {
            faults,
            certain: faults,
            time_ns: 2000,
            site: Some("libc.so.6".to_owned()),
            at_site,
        };
        shape.sentence(&conditions())
    };
    let one = told(1, 1);
    assert!(one.starts_with("1 page faulted twice"), "{one}");
    assert!(one.ends_with(" All in libc.so.6."), "{one}");
    let many = told(3, 2);
    assert!(many.starts_with("3 pages faulted twice"), "{many}");
    assert!(
        many.ends_with(" 2 of them in libc.so.6, more than anywhere else."),
        "{many}"
    );
}

#[test]
fn memory_that_was_given_back_is_no_double_fault_where_that_is_known() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    script.small(BASE);
    script.small(BASE);
    assert_eq!(
        script.kinds(),
        [(FaultKind::Page, 1), (FaultKind::Again, 1)]
    );
    assert_eq!(script.summary().shapes, []);
}

#[test]
fn a_huge_zero_page_broken_up_is_seen_by_its_small_successors() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    script.fault(1, BASE, HUGE, 0, 100);
    for page in 0..512 {
        script.fault(1, BASE + page * PAGE, PAGE, 0x1000, 100);
    }
    assert_eq!(
        script.kinds(),
        [(FaultKind::HugeZero, 1), (FaultKind::AfterZero, 512)]
    );
    let broken = Shape::BrokenUp { huge_pages: 1 };
    assert!(script.summary().shapes.contains(&broken));
}

#[test]
fn small_pages_count_where_a_huge_one_fits_and_nowhere_else() {
    let ranges = |start: u64, bytes: u64| {
        let mut script = Script::new(conditions());
        script.map(start, bytes);
        for page in 0..bytes / PAGE {
            script.small(start + page * PAGE);
        }
        match script.summary().shapes.as_slice() {
            [] => 0,
            [Shape::SmallInsteadOfHuge { full, faults, .. }] => {
                assert_eq!(*faults, full * 512);
                *full
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ranges(BASE, 3 * HUGE), 3);
    assert_eq!(ranges(BASE + PAGE, 3 * HUGE), 2);
    assert_eq!(ranges(BASE + PAGE, HUGE), 0);
}
