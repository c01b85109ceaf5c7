//! Streams with known answers.

use hugewise_base::jsonl::{LineError, to_line};
use hugewise_base::missing::Missing;
use hugewise_base::verification::Verification;
use hugewise_experiment::run::trial::Outcome;
use hugewise_observe::faults;
use hugewise_observe::faults::{Known, Map, Modes, Sharing, Symbol};
use hugewise_text::document::Document;
use hugewise_text::{Style, Verbosity, to_text};
use hugewise_tlb::misses::{
    Absence, AccessKind, Analysis, Closing, Conclusion, Conditions, Event, Facility, Miss,
    MissEvent, Summary, is_recording,
};

use crate::read;

const PAGE: u64 = 4096;
const HUGE: u64 = 2 << 20;

fn conditions() -> Conditions {
    Conditions {
        hugewise: "0.1.0".to_owned(),
        subject: "./prog".to_owned(),
        started_unix_ms: 0,
        kernel: "6.18.0".to_owned(),
        cpu_model: "a processor".to_owned(),
        page_bytes: PAGE,
        pmd_bytes: Some(HUGE),
        means: Facility::Pebs,
        sampled: "loads and stores that miss".to_owned(),
        every: 1009,
        modes: Modes::User,
        page_size: Known::Yes,
        verification: Verification::default(),
    }
}

fn closing() -> Closing {
    Closing {
        wall_ns: 2_000_000_000,
        outcome: Some(Outcome::Exited { code: 0 }),
        samples: 1000,
        without_address: 0,
        lost: Some(0),
        outlived: 0,
        malformed: 0,
    }
}

fn map(start: u64, bytes: u64, name: &str, sharing: Sharing) -> Event {
    Event::Space(faults::Event::Map(Map {
        time_ns: 1,
        pid: 7,
        start,
        end: start + bytes,
        offset: 0,
        protection: if name.starts_with("/bin") { 5 } else { 3 },
        sharing,
        name: name.to_owned(),
    }))
}

fn miss(address: u64, page_bytes: Option<u64>) -> Event {
    Event::Misses(MissEvent::Miss(Miss {
        time_ns: 10,
        pid: 7,
        tid: 8,
        address,
        code: 0x40_1000,
        access: AccessKind::Load,
        page_bytes,
        refill_cycles: Some(30),
    }))
}

fn space() -> Vec<Event> {
    vec![
        Event::Space(faults::Event::Exec {
            time_ns: 1,
            pid: 7,
            name: "prog".to_owned(),
        }),
        map(0x40_0000, 0x1_0000, "/bin/prog", Sharing::Private),
        // Three huge pages and a half, not aligned: the first whole one begins at 0x7020_0000.
        map(0x7010_0000, 3 * HUGE + HUGE / 2, "//anon", Sharing::Private),
        map(0x9000_0000, HUGE, "/dev/shm/x", Sharing::Shared),
        map(0xa000_0000, HUGE, "/data/file", Sharing::Shared),
        map(0xb000_0000, HUGE, "/anon_hugepage", Sharing::Hugetlb),
    ]
}

fn analysed(events: impl IntoIterator<Item = Event>) -> Summary {
    let mut analysis = Analysis::new(conditions());
    space().iter().for_each(|event| analysis.push(event));
    events.into_iter().for_each(|event| analysis.push(&event));
    analysis.push(&Event::Misses(MissEvent::Sampled(Box::new(closing()))));
    analysis.summary().expect("a closing")
}

fn standings(summary: &Summary) -> Vec<(&str, u64)> {
    let rows = summary.standings.iter();
    rows.map(|row| (row.name.as_str(), row.misses)).collect()
}

#[test]
fn every_address_has_its_eligibility() {
    let small = Some(PAGE);
    let summary = analysed([
        miss(0x7020_0000, small),
        miss(0x7020_0000 + 2 * HUGE, small),
        miss(0x7020_0000 + HUGE, Some(HUGE)),
        miss(0x7010_0000, small),
        miss(0x7020_0000 + 3 * HUGE - 1, small),
        miss(0x9000_0000, small),
        miss(0xa000_0000, small),
        miss(0xb000_0000, None),
        miss(0xffff_8000_0000_0000, Some(1 << 30)),
        miss(0x1000, small),
        miss(0x7020_0000, None),
    ]);
    let expected = [
        ("could", 3),
        ("huge", 2),
        ("edge", 1),
        ("shared", 1),
        ("file", 1),
        ("kernel", 1),
        ("unknown", 2),
    ];
    assert_eq!(standings(&summary), expected);
    let total: u64 = summary.mappings.iter().map(|row| row.misses).sum();
    assert_eq!(total, summary.misses);
    let first = &summary.mappings[0];
    assert_eq!(first.name, "anonymous 7 MiB at 70100000 of 7");
    assert_eq!(
        (first.misses, first.huge, first.could),
        (6, Some(1), Some(3))
    );
}

#[test]
fn a_page_between_small_and_huge_is_eligible() {
    let summary = analysed([miss(0x7020_0000, Some(16 * PAGE))]);
    assert_eq!(standings(&summary), [("could", 1)]);
    assert_eq!(summary.pages[0].label, "64 KiB");
}

#[test]
fn the_conclusion_waits_for_enough() {
    let said = |could: usize, other: usize, unknown: usize| {
        let misses = [
            (0x7020_0000, Some(PAGE)),
            (0xa000_0000, Some(PAGE)),
            (0x7020_0000, None),
        ];
        let counts = [could, other, unknown];
        let events = misses
            .into_iter()
            .zip(counts)
            .flat_map(|((address, page), count)| std::iter::repeat_n(miss(address, page), count));
        analysed(events).conclusion
    };
    assert_eq!(said(0, 0, 0), Conclusion::NoMisses);
    assert_eq!(said(1, 0, 0), Conclusion::Partly);
    assert_eq!(said(40, 10, 0), Conclusion::Are);
    assert_eq!(said(0, 40, 0), Conclusion::AreNot);
    assert_eq!(said(0, 5, 0), Conclusion::Partly);
    assert_eq!(said(0, 3, 0), Conclusion::CannotTell);
    // Unknown memory could be eligible.
    assert_eq!(said(0, 40, 40), Conclusion::CannotTell);
    assert_eq!(said(100, 100, 0), Conclusion::Partly);
}

#[test]
fn code_has_its_name() {
    let symbol = Event::Space(faults::Event::Symbol {
        file: "/bin/prog".to_owned(),
        offset: 0x1000,
        frames: vec![Symbol {
            name: "walk".to_owned(),
            place: Some("x.c:7".to_owned()),
        }],
    });
    let summary = analysed([miss(0x7020_0000, Some(PAGE)), symbol]);
    assert_eq!(summary.functions[0].name, "walk (x.c:7)");
    let refill = summary.refill.expect("cycles");
    assert_eq!((refill.p50_cycles, refill.p90_cycles), (30, 30));
}

#[test]
fn a_child_has_the_memory_of_its_parent_and_a_program_its_own() {
    let fork = Event::Space(faults::Event::Fork {
        time_ns: 2,
        pid: 9,
        parent: 7,
        tid: 9,
    });
    let of_child = |address| match miss(address, Some(PAGE)) {
        Event::Misses(MissEvent::Miss(miss)) => {
            Event::Misses(MissEvent::Miss(Miss { pid: 9, ..miss }))
        }
        other => other,
    };
    let exec = Event::Space(faults::Event::Exec {
        time_ns: 3,
        pid: 9,
        name: "other".to_owned(),
    });
    let summary = analysed([fork, of_child(0x7020_0000), exec, of_child(0x7020_0000)]);
    assert_eq!(standings(&summary), [("could", 1), ("unknown", 1)]);
}

#[test]
fn a_recording_is_read_back_as_it_was_written() {
    let all = [Event::Misses(MissEvent::Sampling(Box::new(conditions())))]
        .into_iter()
        .chain(space())
        .chain([
            miss(1, None),
            Event::Misses(MissEvent::Sampled(Box::new(closing()))),
        ]);
    for (number, event) in all.enumerate() {
        let line = to_line(&event);
        assert_eq!(read(number + 1, &line), Ok(event));
        assert_eq!(is_recording(line.as_bytes()), number == 0);
    }
    for other in ["{}", r#"{"event":"lost","count":1}"#] {
        let error = read::<Event>(1, other);
        assert!(
            matches!(error, Err(LineError::OtherFile { .. })),
            "{error:?}"
        );
    }
    let error = read::<Event>(5, r#"{"event":"miss","pid":"x"}"#).expect_err("a text");
    assert!(error.to_string().starts_with("line 5, column"), "{error}");
}

fn drawn(document: &Document, verbose: Verbosity) -> String {
    let style = Style {
        verbose,
        ..Style::default()
    };
    to_text(document, &style)
}

#[test]
fn text_fits_eighty_columns() {
    let mut events = Vec::new();
    for number in 0..20_u64 {
        let start = 0x1_0000_0000 + number * 0x1000_0000;
        let name = format!("/a/rather/long/path/to/a/file/that/is/mapped/number-{number}");
        events.push(map(start, HUGE, &name, Sharing::Private));
        events.push(miss(start, Some(PAGE)));
    }
    let summary = analysed(events);
    for (verbose, lines) in [(Verbosity::Normal, 24), (Verbosity::Verbose, usize::MAX)] {
        let text = drawn(&summary.document(), verbose);
        assert!(text.lines().count() <= lines, "{text}");
        let long = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None);
    }
    let csv = summary.csv();
    let columns = csv.lines().map(|line| line.matches(',').count());
    assert_eq!(columns.collect::<std::collections::BTreeSet<_>>().len(), 1);
}

#[test]
fn an_absence_says_what_would_help() {
    let missing = Missing::NoHardware;
    let absence = Absence::new(
        Some(Facility::Ibs),
        missing,
        vec!["a machine of iron".to_owned()],
    );
    assert_eq!(
        drawn(&absence.document(), Verbosity::Normal),
        "Cannot sample TLB misses: this machine has no hardware counters.\n\
         What would help:\n\
         * a machine of iron\n"
    );
}
