//! The kind of each fault, from the events before it.

use hugewise_observe::faults::{Conditions, Event, FaultKind, Served, Shape, Sharing};

use super::script::{BASE, HUGE, PAGE, Script, conditions, served, unprivileged};

#[test]
fn beginnings_and_ends_meet_by_thread_and_address() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    let begin = |tid: u32, address: u64, time_ns: u64| Event::Start {
        time_ns,
        pid: 1,
        tid,
        address,
    };
    let end = |tid: u32, address: u64, time_ns: u64| {
        Event::End(Box::new(Served {
            pid: 1,
            ..served(tid, address, time_ns)
        }))
    };
    script.events.extend([
        begin(1, BASE, 2000),
        begin(2, BASE + PAGE, 2100),
        end(1, BASE, 2500),
        end(2, BASE + PAGE, 3100),
        // A fault that ends in a signal, the next fault of the same thread, and an end without a start.
        begin(1, 8, 4000),
        begin(1, BASE + 2 * PAGE, 4100),
        end(1, BASE + 2 * PAGE, 4300),
        end(3, BASE + 3 * PAGE, 4400),
        // The end of another fault: the end in between was lost.
        begin(4, BASE + 4 * PAGE, 5000),
        end(4, BASE + 5 * PAGE, 5300),
    ]);
    let summary = script.summary();
    assert_eq!((summary.total.faults, summary.total.timed), (5, 3));
    assert_eq!(summary.total.time_ns, 500 + 1000 + 200);
    assert_eq!((summary.books.unserved, summary.threads), (2, 4));
}

#[test]
fn zero_pages_and_what_follows_them_are_known_to_the_privileged() {
    let script = |conditions| {
        let mut script = Script::new(conditions);
        script.map(BASE, 2 * HUGE);
        script.fault(1, BASE, PAGE, 0, 100);
        script.fault(1, BASE, PAGE, 0x1000, 100);
        script.fault(1, BASE + HUGE, HUGE, 0, 100);
        script.fault(1, BASE + HUGE + 5, HUGE, 0x20_0000, 100);
        script.fault(1, BASE + PAGE, PAGE, 0x2000, 100);
        script
    };
    let known = script(conditions());
    let expected = [
        (FaultKind::Page, 1),
        (FaultKind::Huge, 1),
        (FaultKind::ZeroPage, 1),
        (FaultKind::HugeZero, 1),
        (FaultKind::AfterZero, 1),
    ];
    assert_eq!(known.kinds(), expected);
    let doubles = |script: &Script| match script.summary().shapes.first() {
        Some(Shape::DoubleFault {
            faults, certain, ..
        }) => (*faults, *certain),
        other => panic!("{other:?}"),
    };
    assert_eq!(doubles(&known), (2, 2));

    let unknown = script(unprivileged());
    let expected = [
        (FaultKind::Page, 2),
        (FaultKind::Huge, 2),
        (FaultKind::Again, 1),
    ];
    assert_eq!(unknown.kinds(), expected);
    assert_eq!(doubles(&unknown), (2, 0));
}

#[test]
fn folios_are_told_by_their_size_and_touch_all_their_pages() {
    const FOLIO: u64 = 16 * PAGE;
    let mut script = Script::new(Conditions {
        folio_sizes: vec![FOLIO],
        ..conditions()
    });
    script.map(BASE, HUGE);
    for (address, folio_bytes) in [
        (BASE + 5 * PAGE, Some(FOLIO)),
        (BASE + FOLIO, Some(PAGE)),
        (BASE + 2 * FOLIO, None),
    ] {
        script.small(address);
        script.last().folio_bytes = folio_bytes;
    }
    // The folio has mapped this page too.
    script.small(BASE);
    let expected = [
        (FaultKind::Page, 2),
        (FaultKind::Folio(FOLIO), 1),
        (FaultKind::Again, 1),
    ];
    assert_eq!(script.kinds(), expected);
    assert_eq!(script.summary().folios_missed, 1);
}

#[test]
fn the_first_touch_since_a_fork_is_a_copy_in_both() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    script.small(BASE);
    script.small(BASE + PAGE);
    script.fork(1, 2);
    script.fault(2, BASE, PAGE, 0x5000, 300);
    script.fault(1, BASE, PAGE, 0x6000, 200);
    // The first page was never touched; the second one belongs to the child by now.
    script.fault(2, BASE + 2 * PAGE, PAGE, 0x7000, 100);
    script.fault(2, BASE, PAGE, 0x8000, 100);
    let expected = [
        (FaultKind::Page, 3),
        (FaultKind::Again, 1),
        (FaultKind::Copy, 2),
    ];
    assert_eq!(script.kinds(), expected);
    let copies = Shape::CopiesAfterFork {
        forks: 1,
        copies: 2,
        time_ns: 500,
        largest: 2,
        span_ns: 900,
    };
    assert_eq!(script.summary().shapes, [copies]);
}

#[test]
fn pages_outlive_growth_and_protection_but_not_a_new_mapping() {
    let second_touch = |again: &dyn Fn(&mut Script)| {
        let mut script = Script::new(conditions());
        script.map(BASE, HUGE);
        script.small(BASE);
        again(&mut script);
        script.small(BASE);
        *script.kinds().last().expect("a kind")
    };
    let grown = second_touch(&|script| script.map(BASE, 2 * HUGE));
    assert_eq!(grown, (FaultKind::Again, 1));
    let protected = |script: &mut Script| {
        script.map_as("//anon", Sharing::Private, BASE, PAGE, 1);
    };
    assert_eq!(second_touch(&protected), (FaultKind::Again, 1));
    let anew = second_touch(&|script| script.map(BASE, HUGE));
    assert_eq!(anew, (FaultKind::Page, 2));
    let reserved = |script: &mut Script| {
        script.map_as("//anon", Sharing::Private, BASE - HUGE, 3 * HUGE, 0);
        script.map_as("//anon", Sharing::Private, BASE, HUGE, 3);
    };
    assert_eq!(second_touch(&reserved), (FaultKind::Page, 2));
}

#[test]
fn mappings_say_whose_memory_it_is() {
    let kind = |name: &str, sharing: Sharing| {
        let mut script = Script::new(conditions());
        script.map_as(name, sharing, BASE, HUGE, 3);
        script.small(BASE);
        script.small(BASE);
        let kinds: Vec<FaultKind> = script.kinds().iter().map(|(kind, _)| *kind).collect();
        (kinds, script.summary().growth[0].name.clone())
    };
    use Sharing::{Hugetlb, Private, Shared};
    let cases = [
        (
            "/lib/libc.so.6",
            Private,
            vec![FaultKind::File, FaultKind::FileCopy],
            "mmap of a file, private",
        ),
        (
            "/data/table",
            Shared,
            vec![FaultKind::File],
            "mmap of a file, shared",
        ),
        (
            "/dev/zero (deleted)",
            Shared,
            vec![FaultKind::Shared],
            "mmap, shared",
        ),
        (
            "/memfd:x (deleted)",
            Shared,
            vec![FaultKind::Shared],
            "mmap, shared",
        ),
        (
            "/anon_hugepage (deleted)",
            Hugetlb,
            vec![FaultKind::Hugetlb],
            "mmap of hugetlb",
        ),
        (
            "[heap]",
            Private,
            vec![FaultKind::Page, FaultKind::Again],
            "brk",
        ),
        (
            "[stack]",
            Private,
            vec![FaultKind::Page, FaultKind::Again],
            "stack",
        ),
    ];
    for (name, sharing, kinds, growth) in cases {
        assert_eq!(kind(name, sharing), (kinds, growth.to_owned()), "{name}");
    }
}

#[test]
fn the_first_heap_has_its_name_from_where_it_begins() {
    let mut script = Script::new(conditions());
    script.events.push(Event::Heap {
        time_ns: 0,
        pid: 1,
        address: BASE,
    });
    script.map(BASE, HUGE);
    script.small(BASE);
    assert_eq!(script.summary().growth[0].name, "brk");
}

#[test]
fn a_fault_outside_of_everything_known_is_said_to_be_that() {
    let mut script = Script::new(conditions());
    script.small(BASE);
    assert_eq!(script.kinds(), [(FaultKind::Unknown, 1)]);
    assert_eq!(script.summary().mappings[0].name, "unknown mapping");
}
