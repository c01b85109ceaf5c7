use expect_test::expect;

use super::*;
use crate::base::histogram::durations::Durations;
use crate::base::missing::Missing;
use crate::observe::trace::{FORMAT, Part, Preset, Rung, Untraced};

fn point(name: &str, title: &str, kind: Kind, parts_by: Option<&str>) -> Traced {
    Traced {
        name: name.to_owned(),
        title: title.to_owned(),
        preset: Preset::Compaction,
        rung: Rung::TpBtf,
        places: vec!["begin".to_owned(), "end".to_owned()],
        includes: "each zone by itself, programs only".to_owned(),
        notes: vec!["a note that must be known".to_owned()],
        kind,
        parts_by: parts_by.map(str::to_owned),
    }
}

fn seen(name: &str, all: Latencies, part: Option<Part>) -> Seen {
    Seen {
        name: name.to_owned(),
        all,
        parts: part.into_iter().collect(),
        losses: Losses::default(),
    }
}

fn example() -> Trace {
    let some = Latencies::from(&Durations::from_iter([500, 1_200, 1_900, 2_500, 700_000]));
    let part = |key: &str, latencies| Part {
        key: key.to_owned(),
        latencies,
    };
    let kinds = part("exceed_none_pte", Latencies::events(7));
    let mut lossy = seen("scans", Latencies::events(7), Some(kinds));
    lossy.losses.missed = 3;
    Trace {
        format: FORMAT.to_owned(),
        kernel: "6.18.0".to_owned(),
        pid: None,
        started_unix_ms: 0,
        seconds: 5.0,
        interval_seconds: None,
        points: vec![
            point(
                "stalls",
                "direct compaction",
                Kind::Durations,
                Some("result"),
            ),
            point("scans", "results of scanning", Kind::Events, Some("result")),
            point("none", "direct reclaim", Kind::Durations, None),
        ],
        missing: vec![Untraced {
            name: "zeroing".to_owned(),
            title: "zeroing of huge pages".to_owned(),
            why: Missing::NotSupported {
                what: "functions cannot be traced".to_owned(),
            },
            tried: Vec::new(),
        }],
        intervals: Vec::new(),
        total: Window {
            from_seconds: 0.0,
            to_seconds: 5.0,
            points: vec![
                seen("stalls", some.clone(), Some(part("success", some))),
                lossy,
                seen("none", Latencies::default(), None),
            ],
        },
    }
}

fn text(render: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    render(&mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("we write UTF-8")
}

#[test]
fn histograms_are_drawn_as_the_classic_scripts_draw_them() {
    let drawn = text(|out| render_text(&example(), out));
    assert!(
        drawn.lines().all(|line| line.chars().count() <= 80),
        "{drawn}"
    );
    expect![[r#"
        direct compaction: 5 in 5.0 s, 706 µs in all
         min:500ns avg:141µs p50:1.92µs p90:700µs p99:700µs p99.9:700µs max:700µs
        value us |-------------------------------------------------- count
               0 |@@@@@@@@@@@@@@@@@@@@@@@@@                               1
               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@      2
               2 |@@@@@@@@@@@@@@@@@@@@@@@@@                               1
               4 |                                                        0
               8 |                                                        0
              16 |                                                        0
              32 |                                                        0
              64 |                                                        0
             128 |                                                        0
             256 |                                                        0
             512 |@@@@@@@@@@@@@@@@@@@@@@@@@                               1
          result                        count       avg       p50       p99       max
          success                           5    141 µs   1.92 µs    700 µs    700 µs

        results of scanning: 7 in 5.0 s
          exceed_none_pte                           7
          3 runs of our programs left out by the kernel

        none of: direct reclaim

        Seen by
          direct compaction: tp_btf begin → end: each zone by itself, programs only
            a note that must be known
          results of scanning: tp_btf begin → end: each zone by itself, programs only
            a note that must be known
          direct reclaim: tp_btf begin → end: each zone by itself, programs only
            a note that must be known
        Percentiles are upper edges of buckets, at most 12.5 % too long; min, avg
        and max are exact.

        Not traced
          zeroing of huge pages: not on this machine: functions cannot be traced
    "#]]
    .assert_eq(&drawn);
}

#[test]
fn rows_of_csv_have_the_fields_of_the_head() {
    let trace = example();
    let rows = text(|out| render_csv(&trace.points, &trace.total, "total", out));
    let fields = csv_head().trim().split(',').count();
    assert!(
        rows.lines().all(|row| row.split(',').count() == fields),
        "{rows}"
    );
    expect![[r#"
        total,0,5,stalls,tp_btf,,5,706100,500,141220,1919,700000,700000,700000,700000
        total,0,5,stalls,tp_btf,success,5,706100,500,141220,1919,700000,700000,700000,700000
        total,0,5,scans,tp_btf,,7,0,,,,,,,
        total,0,5,scans,tp_btf,exceed_none_pte,7,0,,,,,,,
        total,0,5,none,tp_btf,,0,0,,,,,,,
    "#]]
    .assert_eq(&rows);
}

#[test]
fn markdown_is_a_table() {
    expect![[r#"
        | point | seen by | count | total | avg | p50 | p99 | max |
        |---|---|--:|--:|--:|--:|--:|--:|
        | direct compaction | tp_btf | 5 | 706 µs | 141 µs | 1.92 µs | 700 µs | 700 µs |
        | results of scanning | tp_btf | 7 | ~ | ~ | ~ | ~ | ~ |
        | direct reclaim | tp_btf | 0 | 0 | ~ | ~ | ~ | ~ |

        Not traced: zeroing of huge pages: not on this machine: functions cannot be traced
    "#]]
    .assert_eq(&text(|out| render_markdown(&example(), out)));
}
