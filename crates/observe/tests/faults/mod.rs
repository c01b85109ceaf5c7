//! Streams of events with known answers: losses, call chains, recordings, and what is printed.

mod kinds;
mod script;
mod shapes;

use std::collections::BTreeSet;

use expect_test::expect;
use hugewise_base::jsonl::{LineError, to_line};
use hugewise_observe::faults::{Counted, Event, NamedRow, Sharing, Symbol, Unwatched, Weigh};
use hugewise_text::{Style, Verbosity, to_text};
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use script::{BASE, HUGE, PAGE, Script, conditions, served, unprivileged};

use crate::documented::undocumented;
use crate::read;

#[test]
fn a_chain_stands_for_as_many_faults_as_it_says() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    (0..6).for_each(|page| script.small(BASE + page * PAGE));
    let ends = script.events.iter_mut().filter_map(|event| match event {
        Event::End(served) => Some(served),
        _ => None,
    });
    // The first chain represents itself, then one chain for three faults, and two unknown ones.
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
fn losses_are_said() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    script.small(BASE);
    let closing = |counted, lost, accounted| script.closed(counted, lost, accounted).books;
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

/// The kernel announces an end at the exec of a set-user-ID program, before its first mapping.
#[test]
fn a_program_whose_events_are_taken_away_is_not_without_faults() {
    let mut script = Script::new(conditions());
    script.exec(1, "su");
    script.exit(1);
    let summary = script.closed(0, 0, 5171);
    let su = Unwatched {
        program: "su".to_owned(),
        processes: 1,
    };
    assert_eq!(
        (summary.is_unwatched(), &summary.unwatched),
        (true, &vec![su])
    );
    assert_eq!(summary.books.without_event, Some(5171));
    let [remark] = &summary.books.remarks[..] else {
        panic!("{:?}", summary.books.remarks);
    };
    assert!(
        remark.contains("Not watched: su") && !remark.contains("MAP_POPULATE"),
        "{remark}"
    );
}

/// Two children of a watched shell execute the program, and one program exits normally.
#[test]
fn only_the_children_that_lose_their_events_are_not_watched() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    script.small(BASE);
    for pid in [2, 3] {
        script.fork(1, pid);
        script.exec(pid, "su");
        script.exit(pid);
    }
    script.fork(1, 4);
    script.exec(4, "ls");
    script.fault(4, BASE, PAGE, 1, 100);
    script.exit(4);
    let summary = script.closed(2, 0, 600);
    assert!(!summary.is_unwatched());
    let of = |one: &Unwatched| (one.program.clone(), one.processes);
    let all: Vec<_> = summary.unwatched.iter().map(of).collect();
    assert_eq!(all, [("su".to_owned(), 2)]);
}

#[test]
fn a_reason_explains_as_many_faults_as_it_can_cause() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    script.small(BASE);
    let explained = script.closed(1, 0, 513).books.remarks;
    let beyond = script.closed(1, 0, 514).books.remarks;
    assert!(explained[0].ends_with("MAP_POPULATE and exec fault without an event."));
    assert!(
        beyond[0].contains("not known") && beyond[0].contains("at most 512"),
        "{beyond:?}"
    );
}

/// Programs in the kernel do not report unserved faults; the counters include them.
#[test]
fn what_was_not_served_and_what_has_no_latency_is_said() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    script.small(BASE);
    script
        .events
        .push(Event::End(Box::new(served(1, BASE + PAGE, 9000))));
    let counted = Counted {
        starts: 5,
        minor: 2,
        ..Counted::default()
    };
    let books = script.counted(counted, 2).books;
    assert_eq!((books.unserved, books.sampled, books.timed), (3, 2, 1));
    expect![[r#"
        [
            "No latency is known of 1 fault: the beginning was not seen.",
        ]
    "#]]
    .assert_debug_eq(&books.remarks);
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
    // The caller is looked up one byte before its return address.
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
        let error = read::<Event>(1, other);
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
        let error = read::<Event>(1, &later);
        assert!(
            matches!(error, Err(LineError::OtherVersion { .. })),
            "{error:?}"
        );
    }
    assert!(matches!(
        read::<Event>(7, "{\"event\":\"start\"}"),
        Err(LineError::Damaged { line: 7, .. })
    ));
}

#[test]
fn its_page_names_all_fields_of_a_summary() {
    let mut script = Script::new(conditions());
    script.map(BASE, HUGE);
    (0..512).for_each(|page| script.small(BASE + page * PAGE));
    let summary = serde_json::to_value(script.summary()).unwrap();
    assert_eq!(
        undocumented(&["format-faults"], &[], &summary),
        BTreeSet::new()
    );
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
        Huge pages would avoid up to 99.6 % of the faults: 1 aligned 2 MiB block was
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
        Huge pages would avoid up to 99.6 % of the faults: 1 aligned 2 MiB block was
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
    /// For any events in any order: no panic, and every fault is in every table.
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
