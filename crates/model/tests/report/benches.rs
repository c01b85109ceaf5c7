//! Reports of benches, from their records.

use expect_test::expect_file;
use hugewise_model::bench;
use hugewise_model::run::compare::Options;
use hugewise_model::run::report::Report;
use hugewise_model::run::{compare, record, report};
use hugewise_model::text::{Style, Verbosity};
use serde_json::Value;

use super::checked::{draw, golden, markdown, widest};

/// The record of a real run: its cells are rows, and each policy says what lay under them.
#[test]
fn a_bench_is_drawn_from_its_record() {
    let text = include_bytes!("../../../../fixtures/benches/memory.jsonl");
    let record = record::parse(text).unwrap();
    let table = compare::table(&record, &Options::default()).unwrap();
    let report = bench::report(&record, table, Some("memory.jsonl".to_owned()));
    let text = draw(&report, &Style::default());
    expect_file![golden("bench-memory.txt")].assert_eq(&text);
    assert!(widest(&text) <= 80, "{text}");
    assert!(report::advice::advice(&report).is_empty());
    let markdown = markdown(&report);
    expect_file![golden("bench-memory.md")].assert_eq(&markdown);
}

/// The report of a bench's record.
fn with_report<T>(name: &str, bytes: &[u8], look: impl FnOnce(&Report<'_>) -> T) -> T {
    let record = record::parse(bytes).unwrap();
    let table = compare::table(&record, &Options::default()).unwrap();
    look(&bench::report(
        &record,
        table,
        Some(format!("{name}.jsonl")),
    ))
}

/// What the report of a bench's record shows, which is also what is frozen.
fn assert_drawn(name: &str, report: &Report<'_>) -> String {
    let text = draw(report, &Style::default());
    expect_file![golden(&format!("bench-{name}.txt"))].assert_eq(&text);
    assert!(widest(&text) <= 80 && text.lines().count() <= 24, "{text}");
    let style = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    let verbose = draw(report, &style);
    expect_file![golden(&format!("bench-{name}-verbose.txt"))].assert_eq(&verbose);
    assert!(widest(&verbose) <= 80, "{verbose}");
    text
}

/// What JSON says of latencies.
fn latencies(report: &Report<'_>) -> Value {
    let json = report.json();
    let mut json: Value = serde_json::from_str(&json).unwrap();
    json["latency"].take()
}

#[test]
fn curves_levels_reach_and_price_are_drawn_from_their_record() {
    let bytes = include_bytes!("../../../../fixtures/benches/latency.jsonl");
    with_report("latency", bytes, |report| {
        assert_drawn("latency", report);
        let markdown = markdown(report);
        expect_file![golden("bench-latency.md")].assert_eq(&markdown);
        let told = latencies(report);
        for curve in told["curves"].as_array().unwrap() {
            assert!(curve["levels"].as_array().unwrap().len() >= 4, "{curve}");
        }
        let price = &told["prices"][0];
        assert_eq!(
            (&price["dear"], &price["cheap"]),
            (&"4k".into(), &"2m".into())
        );
    });
}

/// What the usual cells leave out is said where the table is, and a source of zeros is named.
#[test]
fn what_a_bench_leaves_out_is_said() {
    let bytes = include_str!("../../../../fixtures/benches/memory.jsonl");
    let bytes = bytes
        .replacen(
            r#""bench":{"#,
            r#""bench":{"left_out":"Left out: --ops rmw.","#,
            1,
        )
        .replace("/untouched/", "/zeroed/");
    with_report("memory", bytes.as_bytes(), |report| {
        let verbose = Style {
            verbose: Verbosity::Verbose,
            ..Style::default()
        };
        let text = draw(report, &verbose);
        assert!(text.contains("\nLeft out: --ops rmw.\n"), "{text}");
        assert!(text.contains("copy libc 64 KiB zeroed"), "{text}");
    });
}

/// The record of a run that was cut off in its sixth round: one curve has rounds enough for
/// levels, the other has not.
#[test]
fn a_curve_with_too_few_rounds_has_no_levels() {
    let bytes = include_bytes!("../../../../fixtures/benches/latency-cut-off.jsonl");
    with_report("latency-cut-off", bytes, |report| {
        assert_drawn("latency-cut-off", report);
        let curves = &latencies(report)["curves"];
        assert!(curves[0]["levels"].is_null() && curves[1]["levels"].is_array());
    });
}

#[test]
fn benches_of_heaps_forks_and_slabs_are_drawn_from_their_records() {
    let records: [(&str, &[u8]); 3] = [
        (
            "growth",
            include_bytes!("../../../../fixtures/benches/growth.jsonl"),
        ),
        (
            "fork",
            include_bytes!("../../../../fixtures/benches/fork.jsonl"),
        ),
        (
            "slab",
            include_bytes!("../../../../fixtures/benches/slab.jsonl"),
        ),
    ];
    for (name, bytes) in records {
        with_report(name, bytes, |report| assert_drawn(name, report));
    }
}
