//! Streams of events with known answers.

use expect_test::expect;
use hugewise_model::base::jsonl::{LineError, RawLine, to_line};
use hugewise_model::base::missing::Missing;
use hugewise_model::observe::faults::{
    Accounted, Analysis, Closing, Conditions, Counted, Event, Kind, Known, Map, Modes, NamedRow,
    Served, Shape, Sharing, Summary, Symbol, Weigh, Weight,
};
use hugewise_model::run::trial::Outcome;
use hugewise_model::text::{Style, Verbosity, to_text};
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

const PAGE: u64 = 4096;
const HUGE: u64 = 512 * PAGE;
/// A huge page's boundary.
const BASE: u64 = 0x7f00_0000_0000;

fn conditions() -> Conditions {
    Conditions {
        hugewise: "0.0.0".to_owned(),
        subject: "test".to_owned(),
        started_unix_ms: 0,
        kernel: "6.18".to_owned(),
        hypervisor: Some("kvm".to_owned()),
        page_bytes: PAGE,
        pmd_bytes: Some(HUGE),
        folio_sizes: Vec::new(),
        modes: Modes::All,
        page_size: Known::Yes,
        physical: Known::Yes,
        huge_zero: Known::Yes,
        folios: Known::Yes,
        every: 1,
    }
}

fn unprivileged() -> Conditions {
    let not_permitted = Known::No(Missing::not_permitted("CAP_PERFMON"));
    Conditions {
        modes: Modes::User,
        physical: not_permitted.clone(),
        huge_zero: not_permitted,
        ..conditions()
    }
}

/// A script of events, with a clock that goes on by itself.
struct Script {
    conditions: Conditions,
    now_ns: u64,
    events: Vec<Event>,
}

impl Script {
    fn new(conditions: Conditions) -> Self {
        Self {
            conditions,
            now_ns: 0,
            events: Vec::new(),
        }
    }

    fn tick(&mut self) -> u64 {
        self.now_ns += 1000;
        self.now_ns
    }

    fn map_as(&mut self, name: &str, sharing: Sharing, start: u64, bytes: u64, protection: u32) {
        let time_ns = self.tick();
        self.events.push(Event::Map(Map {
            time_ns,
            pid: 1,
            start,
            end: start + bytes,
            offset: 0,
            protection,
            sharing,
            name: name.to_owned(),
        }));
    }

    fn map(&mut self, start: u64, bytes: u64) {
        self.map_as("//anon", Sharing::Private, start, bytes, 3);
    }

    /// A fault of `pid` whose latency is `took_ns`.
    fn fault(&mut self, pid: u32, address: u64, page_bytes: u64, physical: u64, took_ns: u64) {
        let time_ns = self.tick();
        self.events.push(Event::Start {
            time_ns,
            pid,
            tid: pid,
            address,
        });
        let physical = self.conditions.physical.is_yes().then_some(physical);
        self.events.push(Event::End(Box::new(Served {
            time_ns: time_ns + took_ns,
            pid,
            tid: pid,
            address,
            weight: Weight::Minor,
            page_bytes: Some(page_bytes),
            physical,
            folio_bytes: None,
            stack: vec![0x40_1000, 0x40_2000],
            stands_for: 1,
        })));
    }

    fn small(&mut self, address: u64) {
        self.fault(1, address, PAGE, 0x1000, 100);
    }

    fn fork(&mut self, parent: u32, pid: u32) {
        let time_ns = self.tick();
        self.events.push(Event::Fork {
            time_ns,
            pid,
            parent,
            tid: pid,
        });
    }

    fn analysis(&self) -> Analysis {
        let mut analysis = Analysis::new(self.conditions.clone());
        self.events.iter().for_each(|event| analysis.push(event));
        analysis
    }

    fn summary(&self) -> Summary {
        let ends = self
            .events
            .iter()
            .filter(|event| matches!(event, Event::End(_)));
        let minor = ends.count() as u64;
        let mut analysis = self.analysis();
        analysis.push(&Event::Closing(Box::new(Closing {
            wall_ns: 1_000_000,
            outcome: Some(Outcome::Exited { code: 0 }),
            counted: Counted {
                starts: minor,
                minor,
                major: 0,
                lost: Some(0),
            },
            accounted: Ok(Accounted { minor, major: 0 }),
            system_ns: Ok(1000),
            own_cpu_ns: 1000,
        })));
        analysis.summary().expect("a closing")
    }

    fn kinds(&self) -> Vec<(Kind, u64)> {
        let mut kinds: Vec<(Kind, u64)> = self
            .summary()
            .kinds
            .iter()
            .map(|row| (row.kind, row.row.faults))
            .collect();
        kinds.sort();
        kinds
    }
}

#[test]
fn a_chain_stands_for_as_many_faults_as_it_says() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    (0..6).for_each(|page| script.small(BASE + page * PAGE));
    let ends = script.events.iter_mut().filter_map(|event| match event {
        Event::End(served) => Some(served),
        _ => None,
    });
    // The first as it is, then one for three, and two that are not known.
    for (served, stands_for) in ends.zip([1, 1, 1, 0, 3, 0]) {
        served.stands_for = stands_for;
    }
    let summary = script.summary();
    assert_eq!((summary.total.faults, summary.chains), (6, 4));
    assert_eq!(
        (summary.sites[0].faults, summary.sites[0].time_ns),
        (6, 600)
    );
    assert_eq!(
        script.analysis().folded(Weigh::Time).values().sum::<u64>(),
        600
    );
    let text = to_text(&summary.document(), &verbose());
    assert!(text.contains("from 4 of 6 faults"), "{text}");
}

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
            time_ns,
            pid: 1,
            tid,
            address,
            weight: Weight::Minor,
            page_bytes: Some(PAGE),
            physical: Some(1),
            folio_bytes: None,
            stack: Vec::new(),
            stands_for: 1,
        }))
    };
    script.events.extend([
        begin(1, BASE, 2000),
        begin(2, BASE + PAGE, 2100),
        end(1, BASE, 2500),
        end(2, BASE + PAGE, 3100),
        // A fault that ends in a signal, the next one of the same thread, an end alone.
        begin(1, 8, 4000),
        begin(1, BASE + 2 * PAGE, 4100),
        end(1, BASE + 2 * PAGE, 4300),
        end(3, BASE + 3 * PAGE, 4400),
        // Another's end: the one between was lost.
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
        (Kind::Page, 1),
        (Kind::Huge, 1),
        (Kind::ZeroPage, 1),
        (Kind::HugeZero, 1),
        (Kind::AfterZero, 1),
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
    let expected = [(Kind::Page, 2), (Kind::Huge, 2), (Kind::Again, 1)];
    assert_eq!(unknown.kinds(), expected);
    assert_eq!(doubles(&unknown), (2, 0));
}

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
            if let Some(Event::End(served)) = script.events.last_mut() {
                served.stack = vec![place];
            }
        }
        match script.summary().shapes.swap_remove(0) {
            Shape::DoubleFault { site, at_site, .. } => (site.expect("a site"), at_site),
            other => panic!("{other:?}"),
        }
    };
    // Two chains of one function are more than the longest chain of another.
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
    assert_eq!(script.kinds(), [(Kind::Page, 1), (Kind::Again, 1)]);
    assert_eq!(script.summary().shapes, []);
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
        if let Some(Event::End(served)) = script.events.last_mut() {
            served.folio_bytes = folio_bytes;
        }
    }
    // The folio has brought this one too.
    script.small(BASE);
    let expected = [(Kind::Page, 2), (Kind::Folio(FOLIO), 1), (Kind::Again, 1)];
    assert_eq!(script.kinds(), expected);
    assert_eq!(script.summary().folios_missed, 1);
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
        [(Kind::HugeZero, 1), (Kind::AfterZero, 512)]
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

#[test]
fn the_first_touch_since_a_fork_is_a_copy_in_both() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    script.small(BASE);
    script.small(BASE + PAGE);
    script.fork(1, 2);
    script.fault(2, BASE, PAGE, 0x5000, 300);
    script.fault(1, BASE, PAGE, 0x6000, 200);
    // Nobody had touched this one, and that one is the child's own by now.
    script.fault(2, BASE + 2 * PAGE, PAGE, 0x7000, 100);
    script.fault(2, BASE, PAGE, 0x8000, 100);
    let expected = [(Kind::Page, 3), (Kind::Again, 1), (Kind::Copy, 2)];
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
    assert_eq!(grown, (Kind::Again, 1));
    let protected = |script: &mut Script| {
        script.map_as("//anon", Sharing::Private, BASE, PAGE, 1);
    };
    assert_eq!(second_touch(&protected), (Kind::Again, 1));
    let anew = second_touch(&|script| script.map(BASE, HUGE));
    assert_eq!(anew, (Kind::Page, 2));
    let reserved = |script: &mut Script| {
        script.map_as("//anon", Sharing::Private, BASE - HUGE, 3 * HUGE, 0);
        script.map_as("//anon", Sharing::Private, BASE, HUGE, 3);
    };
    assert_eq!(second_touch(&reserved), (Kind::Page, 2));
}

#[test]
fn mappings_say_whose_memory_it_is() {
    let kind = |name: &str, sharing: Sharing| {
        let mut script = Script::new(conditions());
        script.map_as(name, sharing, BASE, HUGE, 3);
        script.small(BASE);
        script.small(BASE);
        let kinds: Vec<Kind> = script.kinds().iter().map(|(kind, _)| *kind).collect();
        (kinds, script.summary().growth[0].name.clone())
    };
    use Sharing::{Hugetlb, Private, Shared};
    let cases = [
        (
            "/lib/libc.so.6",
            Private,
            vec![Kind::File, Kind::FileCopy],
            "mmap of a file, private",
        ),
        (
            "/data/table",
            Shared,
            vec![Kind::File],
            "mmap of a file, shared",
        ),
        (
            "/dev/zero (deleted)",
            Shared,
            vec![Kind::Shared],
            "mmap, shared",
        ),
        (
            "/memfd:x (deleted)",
            Shared,
            vec![Kind::Shared],
            "mmap, shared",
        ),
        (
            "/anon_hugepage (deleted)",
            Hugetlb,
            vec![Kind::Hugetlb],
            "mmap of hugetlb",
        ),
        ("[heap]", Private, vec![Kind::Page, Kind::Again], "brk"),
        ("[stack]", Private, vec![Kind::Page, Kind::Again], "stack"),
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
    assert_eq!(script.kinds(), [(Kind::Unknown, 1)]);
    assert_eq!(script.summary().mappings[0].name, "unknown mapping");
}

#[test]
fn losses_are_said() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    script.small(BASE);
    let closing = |counted: u64, lost: u64, accounted: u64| {
        let mut analysis = script.analysis();
        analysis.push(&Event::Closing(Box::new(Closing {
            wall_ns: 1,
            outcome: None,
            counted: Counted {
                starts: counted,
                minor: counted,
                major: 0,
                lost: Some(lost),
            },
            accounted: Ok(Accounted {
                minor: accounted,
                major: 0,
            }),
            system_ns: Err(Missing::NotAsked),
            own_cpu_ns: 0,
        })));
        analysis.summary().expect("a closing").books
    };
    let whole = closing(1, 0, 1);
    assert_eq!(
        (whole.lost, whole.without_event, whole.remarks),
        (0, Some(0), vec![])
    );
    let torn = closing(4, 5, 10);
    assert_eq!((torn.lost, torn.without_event), (5, Some(6)));
    expect![[r#"
        [
            "3 of 4 faults (75.0 %) found the ring full and are only counted; sample fewer with --every N.",
            "The kernel accounts 6 more faults: MAP_POPULATE and exec fault without an event.",
        ]
    "#]]
    .assert_debug_eq(&torn.remarks);
}

#[test]
fn call_chains_become_functions() {
    let mut script = Script::new(conditions());
    script.map_as("/bin/test", Sharing::Private, 0x40_0000, 0x10_0000, 5);
    script.map(BASE, HUGE);
    script.small(BASE);
    script.small(BASE + PAGE);
    let mut analysis = script.analysis();
    let nameless = analysis.nameless();
    let offsets: Vec<u64> = nameless["/bin/test"].iter().copied().collect();
    // The caller is looked up one byte before where it returns to.
    assert_eq!(offsets, [0x1000, 0x1fff]);
    let symbol = |name: &str, place: Option<&str>| Symbol {
        name: name.to_owned(),
        place: place.map(str::to_owned),
    };
    for (offset, frames) in [
        (
            0x1000,
            vec![symbol("store", None), symbol("a::b::fill", Some("x.c:7"))],
        ),
        (0x1fff, vec![symbol("main", None)]),
    ] {
        analysis.push(&Event::Symbol {
            file: "/bin/test".to_owned(),
            offset,
            frames,
        });
    }
    assert!(analysis.nameless().is_empty());
    let folded: Vec<(String, u64)> = analysis.folded(Weigh::Faults).into_iter().collect();
    assert_eq!(folded, [("[program];main;a::b::fill;store".to_owned(), 2)]);
    let time = analysis.folded(Weigh::Time);
    assert_eq!(time["[program];main;a::b::fill;store"], 200);
}

#[test]
fn a_recording_says_the_same_again() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    script.fault(1, BASE, PAGE, 0, 100);
    script.fork(1, 2);
    script.small(BASE);
    script.events.push(Event::Lost { count: 3 });
    let begin = Event::Begin(Box::new(conditions()));
    for (index, event) in std::iter::once(&begin).chain(&script.events).enumerate() {
        assert_eq!(read(index + 1, &to_line(event)).as_ref(), Ok(event));
    }
    for other in ["{}", &to_line(&script.events[0])] {
        let error = read(1, other);
        assert!(
            matches!(error, Err(LineError::OtherFile { .. })),
            "{error:?}"
        );
    }
    let header = to_line(&begin);
    let old = header.replacen(
        r#""format":"hugewise-faults 1""#,
        r#""event":"begin","schema":1"#,
        1,
    );
    assert_eq!(read(1, &old), Ok(begin));
    for later in [
        header.replacen("faults 1", "faults 2", 1),
        old.replacen(":1", ":2", 1),
    ] {
        let error = read(1, &later);
        assert!(
            matches!(error, Err(LineError::OtherVersion { .. })),
            "{error:?}"
        );
    }
    assert!(matches!(
        read(7, "{\"event\":\"start\"}"),
        Err(LineError::Damaged { line: 7, .. })
    ));
}

fn read(number: usize, line: &str) -> Result<Event, LineError> {
    let raw = RawLine {
        number,
        bytes: line.trim_end().as_bytes(),
        ended: true,
    };
    raw.read().map(|event| event.expect("a whole line"))
}

fn verbose() -> Style {
    Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    }
}

#[test]
fn text_fits_eighty_columns_and_says_everything() {
    let mut script = Script::new(unprivileged());
    script.map(BASE, 2 * HUGE);
    for page in 0..512 {
        script.fault(1, BASE + page * PAGE, PAGE, 1, 1500 + page);
    }
    script.fault(1, BASE + HUGE, HUGE, 1, 4_300_000);
    let document = script.summary().document();
    let first = to_text(&document, &Style::default());
    assert!(first.lines().count() <= 24, "{first}");
    expect![[r#"
        Page faults took 520 % of 1.00 ms: 513 faults, 5.20 ms, mostly 2 MiB or huge
        zero (82.7 %).
        Huge pages would spare up to 99.6 % of the faults: 1 aligned 2 MiB block was
        filled with 4 KiB pages (512 of the faults, 899 µs); each could have been one
        huge page if THP allowed it.

        kind                faults     time      p50      p90      p99    p99.9      max
        2 MiB or huge zero       1  4.30 ms  4.30 ms  4.30 ms  4.30 ms  4.30 ms  4.30 ms
        4 KiB or zero page     512   899 µs  1.76 µs  1.98 µs  2.01 µs  2.01 µs  2.01 µs
        all                    513  5.20 ms  1.76 µs  1.98 µs  2.02 µs  4.30 ms  4.30 ms

        mapping                                 faults     time  share
        anonymous 4 MiB at 7f0000000000, pid 1     513  5.20 ms  100 %

        Next  hugewise run -- COMMAND (whether huge pages make it faster)
        More  -v: call sites, histograms, sources of the counts
    "#]]
    .assert_eq(&first);
    let text = to_text(&document, &verbose());
    let all = text.lines().chain(first.lines());
    assert!({ all }.all(|line| line.chars().count() <= 80), "{text}");
    expect![[r#"
        Page faults took 520 % of 1.00 ms: 513 faults, 5.20 ms, mostly 2 MiB or huge
        zero (82.7 %).
        Huge pages would spare up to 99.6 % of the faults: 1 aligned 2 MiB block was
        filled with 4 KiB pages (512 of the faults, 899 µs); each could have been one
        huge page if THP allowed it.

        kind                faults     time      p50      p90      p99    p99.9      max
        2 MiB or huge zero       1  4.30 ms  4.30 ms  4.30 ms  4.30 ms  4.30 ms  4.30 ms
        4 KiB or zero page     512   899 µs  1.76 µs  1.98 µs  2.01 µs  2.01 µs  2.01 µs
        all                    513  5.20 ms  1.76 µs  1.98 µs  2.02 µs  4.30 ms  4.30 ms

        Next  hugewise run -- COMMAND (whether huge pages make it faster)

        By call site
        faults     time  share
           513  5.20 ms  100 %  [unknown]

        By mapping
        faults     time  share
           513  5.20 ms  100 %  anonymous 4 MiB at 7f0000000000, pid 1

        By allocation
        faults     time  share
           513  5.20 ms  100 %  mmap, anonymous

        Latency: all faults
           from                                                      faults
        1.02 µs  ██████████████████████████████████████████████████     512
        2.05 µs                                                           0
        4.10 µs                                                           0
        8.19 µs                                                           0
        16.4 µs                                                           0
        32.8 µs                                                           0
        65.5 µs                                                           0
         131 µs                                                           0
         262 µs                                                           0
         524 µs                                                           0
        1.05 ms                                                           0
        2.10 ms                                                           0
        4.19 ms  █                                                        1

        Latency: 2 MiB or huge zero
           from                                                      faults
        4.19 ms  ██████████████████████████████████████████████████       1

        Latency: 4 KiB or zero page
           from                                                      faults
        1.02 µs  ██████████████████████████████████████████████████     512

        Without CAP_PERFMON: faults in kernel mode are missing, and zero pages count as
          pages.
        Each latency includes the writing of one event. Tracing took 1.00 µs of CPU
          time.
    "#]]
    .assert_eq(&text);
}

proptest! {
    /// Whatever comes, in whatever order: nothing panics, and every fault is in every table.
    #[test]
    fn all_tables_hold_all_faults(moves in proptest::collection::vec((0_u8..6, 0_u64..1100, 1_u32..4), 0..200)) {
        let mut script = Script::new(conditions());
        for (what, place, pid) in moves {
            let address = BASE + place * PAGE;
            match what {
                0 => script.map(address, PAGE * (1 + place % 600)),
                1 => script.fork(pid, 4 + pid),
                2 => script.fault(pid, address, HUGE, place % 2, place),
                3 => script.events.push(Event::Start { time_ns: place, pid, tid: pid, address }),
                4 => script.events.push(Event::Exit { time_ns: place, pid, tid: pid }),
                _ => script.fault(pid, address, PAGE, place % 2, place),
            }
        }
        let summary = script.summary();
        let faults = |rows: &[NamedRow]| rows.iter().map(|row| row.faults).sum::<u64>();
        let total = summary.total.faults;
        prop_assert_eq!(summary.kinds.iter().map(|row| row.row.faults).sum::<u64>(), total);
        prop_assert_eq!(summary.sites.iter().map(|row| row.faults).sum::<u64>(), total);
        prop_assert_eq!((faults(&summary.growth), faults(&summary.mappings)), (total, total));
        prop_assert_eq!(summary.books.counted, total);
        prop_assert!(!to_text(&summary.document(), &verbose()).is_empty());
        let rows = summary.csv().lines().count();
        let lists = [summary.growth.len(), summary.mappings.len(), summary.sites.len()];
        prop_assert_eq!(rows, 1 + summary.kinds.len() + lists.iter().sum::<usize>());
    }
}
