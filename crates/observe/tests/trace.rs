use std::collections::BTreeSet;

use expect_test::expect;
use hugewise_base::histogram::durations::Durations;
use hugewise_base::missing::Missing;
use hugewise_observe::trace::{
    Attachment, FORMAT, Latencies, Losses, MissingPoint, Part, PointKind, PointTotals, Preset,
    Trace, TracePoint, Window, csv_head,
};
use hugewise_text::wrap::display_width;
use hugewise_text::{Style, Verbosity, to_text};

use crate::documented::undocumented;

fn point(name: &str, title: &str, kind: PointKind, parts_by: Option<&str>) -> TracePoint {
    TracePoint {
        name: name.to_owned(),
        title: title.to_owned(),
        preset: Preset::Compaction,
        attachment: Attachment::TpBtf,
        places: vec!["begin".to_owned(), "end".to_owned()],
        includes: "each zone by itself, programs only".to_owned(),
        notes: vec!["a note that must be known".to_owned()],
        kind,
        parts_by: parts_by.map(str::to_owned),
    }
}

fn seen(name: &str, all: Latencies, part: Option<Part>) -> PointTotals {
    PointTotals {
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
                PointKind::Durations,
                Some("result"),
            ),
            point(
                "scans",
                "results of scanning",
                PointKind::Events,
                Some("result"),
            ),
            point("none", "direct reclaim", PointKind::Durations, None),
        ],
        missing: vec![MissingPoint {
            name: "zeroing".to_owned(),
            title: "zeroing of huge pages".to_owned(),
            why: Missing::not_supported("functions cannot be traced"),
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

#[test]
fn the_first_screen_has_what_stalled() {
    let document = example().document();
    let first = to_text(&document, &Style::default());
    assert!(first.lines().count() <= 24, "{first}");
    expect![[r#"
        Most time in direct compaction: 706 µs in 5 calls, within 5.0 s.
        1 of 4 points could not be traced (-v says why).

        point                count   total      p50     p99     max
        direct compaction        5  706 µs  1.92 µs  700 µs  700 µs
        results of scanning  7
          exceed_none_pte    7
        results of scanning: 3 not counted: the kernel skipped the probe

        Latency: direct compaction
        from µs                                                      count
              0  █████████████████████████                               1
              1  ██████████████████████████████████████████████████      2
              2  █████████████████████████                               1
              4                                                          0
              8                                                          0
             16                                                          0
             32                                                          0
             64                                                          0
            128                                                          0
            256                                                          0
            512  █████████████████████████                               1

        More  -v: by order and result, and how each point is measured
    "#]]
    .assert_eq(&first);
    let verbose = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    let all = to_text(&document, &verbose);
    let lines = first.lines().chain(all.lines());
    assert!({ lines }.all(|line| display_width(line) <= 80), "{all}");
    let details = all.split_once("By part").expect("details").1;
    expect![[r#"

        part               count    mean      p50     p99   p99.9     max
        direct compaction      5  141 µs  1.92 µs  700 µs  700 µs  700 µs
          result success       5  141 µs  1.92 µs  700 µs  700 µs  700 µs

        Measured by
        direct compaction    tp_btf begin → end: each zone by itself, programs only; a
                             note that must be known
        results of scanning  tp_btf begin → end: each zone by itself, programs only; a
                             note that must be known
        direct reclaim       tp_btf begin → end: each zone by itself, programs only; a
                             note that must be known
        Percentiles are upper edges of buckets, at most 12.5 % too long; min, mean and
          max are exact.

        Not traced
        not on this machine: functions cannot be traced (zeroing of huge pages)
    "#]]
    .assert_eq(details);
}

#[test]
fn an_interval_has_its_time() {
    let trace = example();
    let text = to_text(&trace.total.document(&trace.points), &Style::default());
    expect![[r#"
        0.0–5.0 s
        point                count   total      p50     p99     max
        direct compaction        5  706 µs  1.92 µs  700 µs  700 µs
        results of scanning  7
          exceed_none_pte    7
        results of scanning: 3 not counted: the kernel skipped the probe
    "#]]
    .assert_eq(&text);
}

#[test]
fn where_nothing_can_be_traced_the_reason_is_the_answer() {
    let mut trace = example();
    trace.points.clear();
    trace.total.points.clear();
    expect![[r#"
        Nothing could be traced.

        Not traced
        not on this machine: functions cannot be traced (zeroing of huge pages)
    "#]]
    .assert_eq(&to_text(&trace.document(), &Style::default()));
}

#[test]
fn rows_of_csv_have_the_fields_of_the_head() {
    let trace = example();
    let rows = trace.total.csv(&trace.points, "total");
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
fn its_page_names_all_fields() {
    let trace = serde_json::to_value(example()).unwrap();
    assert_eq!(
        undocumented(&["format-trace"], &[], &trace),
        BTreeSet::new()
    );
}
