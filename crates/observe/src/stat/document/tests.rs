//! Observations of hand-made intervals, as text.

use expect_test::expect;

use super::super::sample::{header, interval};
use super::super::{Mode, WalkCycles, derive, live_heading, live_line};
use super::*;
use hugewise_experiment::run::trial::Reading;
use hugewise_text::{Style, Verbosity, to_markdown, to_text};

fn drawn(header: &Header, intervals: &[Interval], verbose: Verbosity) -> String {
    let style = Style {
        verbose,
        ..Style::default()
    };
    let mut text = to_text(&header.document(), &style) + &live_heading(header);
    let mut summary = StatSummary::default();
    for interval in intervals {
        text.push_str(&live_line(header, interval));
        summary.add(interval);
    }
    let summary = summary.finished(&header.hardware, None);
    text.push('\n');
    text.push_str(&to_text(&summary.document(header), &style));
    let long = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None, "{text}");
    text
}

#[test]
fn with_counters() {
    let text = drawn(&header(), &[interval(0), interval(1)], Verbosity::Normal);
    // Events that are not verified add a note, and a remark to three rows.
    assert!(text.lines().count() <= 24 + 4, "{text}");
    expect![[r#"
        Process 4711 (mysqld) and its descendants, every 1.00 s from 05:45:59 UTC.
        Counters: skylake, user and kernel mode; 2 groups take turns of 50.0 ms.
        Note: TLB figures: not verified on this CPU (hugewise doctor --verify-counters).
        Note: the watchdog holds one counter of each processor.
                    walks per 1000 -------------- per second --------------
             UTC walk%  dTLB  iTLB faults huge†  failed  collapsed  compact huge%   free
        05:46:00  10.0  1.20 0.100   1234    41       2          0        7  83.1   2101
        05:46:01  10.0  1.20 0.100   1234    41       2          0        7  83.1   2101

        Page walks take at most 10.0 % of the cycles: cheaper walks cannot save more.
        2.00 s in 2 intervals.

        cycles            3.80 G
        instructions      4.40 G, 1.16 per cycle
        page-walk cycles  8.0 % to 10.0 % (data 9.0 %, code 1.0 %); not verified on this
                          CPU
        page walks, data  1.20 per 1000 instructions: 4 KiB 95.8 %, 2 MiB 4.2 %; not
                          verified on this CPU
        page walks, code  0.100 per 1000 instructions; not verified on this CPU
        page faults       2468 (1234 per second); major faults 6
        huge faults†      82 huge pages, 4 failed
        collapsed         0 huge pages; khugepaged ran for 24.0 ms
        compaction        14 stalls
        huge memory       83.1 % of 1.2 GiB at the end
        free huge blocks  2101 at the end
        † machine-wide, includes other programs
        Which memory misses the TLB: hugewise misses
    "#]]
    .assert_eq(&text);
}

#[test]
fn every_event_is_a_detail() {
    let text = drawn(&header(), &[interval(0)], Verbosity::Verbose);
    let row = "1200000   50.0 %  DTLB_LOAD_WALKS";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("Not counted: EPT.WALK_PENDING"), "{text}");
}

#[test]
fn a_part_of_the_walks_bounds_nothing() {
    let mut header = header();
    if let Hardware::Counting { walk_cycles, .. } = &mut header.hardware {
        *walk_cycles = WalkCycles::WithoutNested;
    }
    let text = drawn(&header, &[interval(0)], Verbosity::Normal);
    assert!(text.contains("No bound"), "{text}");
    assert!(!text.contains("cannot save more"), "{text}");
}

#[test]
fn without_counters() {
    let header = Header {
        hardware: Hardware::Missing {
            missing: Missing::NoHardware,
        },
        ..header()
    };
    let mut bare = interval(0);
    bare.counts.clear();
    bare.derived = derive(&[], header.hardware.missing());
    let text = drawn(&header, &[bare.clone()], Verbosity::Normal);
    assert!(text.lines().count() <= 24, "{text}");
    assert!(!text.contains("no hardware counters"), "{text}");
    expect![[r#"
        Process 4711 (mysqld) and its descendants, every 1.00 s from 05:45:59 UTC.
        Note: the watchdog holds one counter of each processor.
                 -------------- per second --------------
             UTC faults huge†  failed  collapsed  compact huge%   free
        05:46:00   1234    41       2          0        7  83.1   2101

        83.1 % of the memory is huge, with 1234 page faults per second.
        1.00 s in 1 interval.

        page faults       1234 (1234 per second); major faults 3
        huge faults†      41 huge pages, 2 failed
        collapsed         0 huge pages; khugepaged ran for 12.0 ms
        compaction        7 stalls
        huge memory       83.1 % of 1.2 GiB at the end
        free huge blocks  2101 at the end
        † machine-wide, includes other programs
        TLB misses without counters: hugewise simulate -- COMMAND
    "#]]
    .assert_eq(&text);
    let all = drawn(&header, &[bare], Verbosity::Verbose);
    assert_eq!(all.matches("no hardware counters").count(), 1, "{all}");
}

#[test]
fn counters_that_are_not_permitted_are_named_with_the_grant() {
    let missing = Missing::not_permitted("CAP_PERFMON");
    let header = Header {
        hardware: Hardware::Missing { missing },
        ..header()
    };
    let text = drawn(&header, &[], Verbosity::Normal);
    assert!(text.contains("not permitted; needs CAP_PERFMON"), "{text}");
}

#[test]
fn faults_that_went_with_the_process_have_no_rate() {
    let mut last = interval(1);
    for name in ["minor_faults_total", "major_faults_total"] {
        let missing = Missing::TooShort;
        last.readings
            .insert(name.to_owned(), Reading::Missing { missing });
    }
    let text = drawn(&header(), &[interval(0), last], Verbosity::Normal);
    let words: Vec<&str> = text.split_whitespace().collect();
    let expected = "page faults at least 1234; major faults 3; those just before the end are not \
                    counted";
    assert!(words.join(" ").contains(expected), "{text}");
}

#[test]
fn markdown_has_the_intervals_as_a_table() {
    let header = header();
    let mut summary = StatSummary::default();
    let intervals = [interval(0), interval(1)];
    intervals.iter().for_each(|interval| summary.add(interval));
    let summary = summary.finished(&header.hardware, None);
    let document = summary.document_with(&header, &intervals);
    let text = to_markdown(&document, Verbosity::Normal);
    let rows = text.lines().filter(|line| line.starts_with('|'));
    let rows: Vec<usize> = rows.map(|line| line.matches('|').count()).collect();
    assert_eq!(rows, [12; 4], "{text}");
    assert!(text.contains("| 10.0 | 1.20 |"), "{text}");
}

#[test]
fn modes_have_names() {
    assert_eq!(Mode::User.words(), "user mode only");
}
