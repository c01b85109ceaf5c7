//! What an observation looks like, by hand-made intervals.

use expect_test::expect;

use super::super::sample::{header, interval};
use super::*;
use crate::observe::stat::{Mode, Summary, WalkCycles};
use crate::run::trial::Reading;

fn drawn(header: &Header, intervals: &[Interval]) -> String {
    let mut text = String::new();
    let mut summary = Summary::default();
    render_heading(header, 80, &mut text).unwrap();
    for interval in intervals {
        render_interval(header, interval, &mut text).unwrap();
        summary.add(interval);
    }
    let summary = summary.finished(&header.hardware, None);
    text.push('\n');
    render_summary(header, &summary, 80, &mut text).unwrap();
    text
}

#[test]
fn with_counters() {
    let text = drawn(&header(), &[interval(0), interval(1)]);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    expect![[r#"
        Process 4711 (mysqld), its threads and descendants, every 1.00 s.
        Counted: skylake, user and kernel mode; 2 groups take turns of 50.0 ms.
        Note: the watchdog holds one counter of each processor.
          time walk% dTLB/k iTLB/k faults/s huge/s†  refus/s  coll/s  comp/s huge%  free
           1.0  10.0   1.20  0.100     1234      41        2       0       7  83.1  2101
           2.0  10.0   1.20  0.100     1234      41        2       0       7  83.1  2101

        2.00 s in 2 intervals.
        cycles                    3.80 G
        instructions              4.40 G, 1.16 a cycle
        cycles with a page walk   8.0 % to 10.0 % (data 9.0 %, code 1.0 %)
                                  cheaper walks can save no more than 10.0 % of its
                                  cycles
        page walks, data          1.20 for 1000 instructions: 4 KiB 95.8 %, 2 MiB 4.2 %
        page walks, code          0.100 for 1000 instructions
        page faults               2468, 1234 a second; 6 more waited for I/O
        huge faults†              82 served, 4 refused
        khugepaged, collapses     0 pages made, 24.0 ms of processor time
        compaction                14 stalls
        huge memory               83.1 % of 1.2 GiB when last read
        free huge blocks          2101 at the end
        † of the whole machine: other programs are in it
        Not counted: EPT.WALK_PENDING; why: hugewise stat --list
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_part_of_the_walks_bounds_nothing() {
    let mut header = header();
    if let Hardware::Counting { walk_cycles, .. } = &mut header.hardware {
        *walk_cycles = WalkCycles::WithoutNested;
    }
    let text = drawn(&header, &[interval(0)]);
    assert!(text.contains("no bound"), "{text}");
    assert!(!text.contains("no more than"), "{text}");
}

#[test]
fn without_counters() {
    let header = Header {
        hardware: Hardware::Missing {
            missing: Missing::NoHardware,
        },
        ..header()
    };
    let mut plain = interval(0);
    plain.counts.clear();
    plain.derived = crate::observe::stat::derive(&[], header.hardware.missing());
    let text = drawn(&header, &[plain]);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert_eq!(text.matches("no hardware counters").count(), 1, "{text}");
    expect![[r#"
        Process 4711 (mysqld), its threads and descendants, every 1.00 s.
        No page walks, misses or cycles: this machine has no hardware counters. The rest
            needs none.
        Note: the watchdog holds one counter of each processor.
          time faults/s huge/s†  refus/s  coll/s  comp/s huge%  free
           1.0     1234      41        2       0       7  83.1  2101

        1.00 s in 1 interval.
        page faults               1234, 1234 a second; 3 more waited for I/O
        huge faults†              41 served, 2 refused
        khugepaged, collapses     0 pages made, 12.0 ms of processor time
        compaction                7 stalls
        huge memory               83.1 % of 1.2 GiB when last read
        free huge blocks          2101 at the end
        † of the whole machine: other programs are in it
    "#]]
    .assert_eq(&text);
}

#[test]
fn faults_that_went_with_the_process_have_no_rate() {
    let mut last = interval(1);
    for name in ["minor_faults_total", "major_faults_total"] {
        let missing = Missing::TooShort;
        last.readings
            .insert(name.to_owned(), Reading::Missing { missing });
    }
    let text = drawn(&header(), &[interval(0), last]);
    let words: Vec<&str> = text.split_whitespace().collect();
    let said = "page faults at least 1234; 3 more waited for I/O; those between the last look and \
                the end are not known huge";
    assert!(words.join(" ").contains(said), "{text}");
}

#[test]
fn numbers_fit_their_columns() {
    for (value, text) in [
        (0.0, "0"),
        (0.21, "0.210"),
        (41.0, "41"),
        (123.4, "123"),
        (9999.0, "9999"),
        (12_345.0, "12.3k"),
        (5e6, "5.00M"),
    ] {
        assert_eq!(short(value), text);
    }
    assert_eq!(Mode::User.words(), "user mode only");
}
