//! Answers of benches, from their records.

use hugewise_experiment::run::answer::{Against, Call, Claim, SubjectKind, Word};
use hugewise_experiment::run::compare::Options;
use hugewise_experiment::run::report::Report;
use hugewise_experiment::run::{compare, record};
use hugewise_text::{Style, Verbosity};
use serde_json::Value;

use super::checked::{change, draw, headline};

/// Calls a function with the report of a bench's record.
fn with_report<T>(name: &str, bytes: &[u8], look: impl FnOnce(&Report<'_>) -> T) -> T {
    let record = record::parse(bytes).unwrap();
    let table = compare::table(&record, &Options::default()).unwrap();
    look(&hugewise_bench::report(
        &record,
        table,
        Some(format!("{name}.jsonl")),
    ))
}

const MEMORY: &[u8] = include_bytes!("../../../../fixtures/benches/memory.jsonl");

/// The record of a real run: its cells are rows and claims, and nothing is chosen by the total time.
#[test]
fn the_cells_of_a_bench_are_its_rows_and_claims() {
    with_report("memory", MEMORY, |report| {
        let answer = report.answer();
        assert_eq!(
            (answer.word, answer.subject.kind),
            (Word::Compared, SubjectKind::Bench)
        );
        assert_eq!(
            (answer.subject.name.as_str(), &answer.choice),
            ("memory", &None)
        );
        let of_cell = |cell: &str| {
            let metric = format!("bench/{cell}/rate_bytes_per_second");
            let is_it = |claim: &Claim| {
                claim.contrast.metric == metric && claim.contrast.against == Against::Baseline
            };
            answer.claim(answer.find(is_it).expect("a claim"))
        };
        let copy = of_cell("copy/libc/33554432/written/1");
        assert_eq!((change(copy), &copy.call), (32.9, &Call::Better));
        let small = of_cell("copy/libc/65536/written/1");
        assert!(!small.call.is_shown(), "{small:?}");
        // The differing cells are the headline, the largest difference first.
        let told: Vec<f64> = headline(answer).into_iter().map(change).collect();
        assert_eq!(told, [32.9, 15.6, 8.4, -5.3]);
        let first = answer.rows.iter().filter(|row| row.first_screen);
        assert!(first.clone().count() >= 8);
        assert!(first.clone().all(|row| row.cells.len() == 2));
    });
}

/// Returns the latencies of a JSON report.
fn latencies(report: &Report<'_>) -> Value {
    let json = report.json();
    let mut json: Value = serde_json::from_str(&json).unwrap();
    json["latency"].take()
}

#[test]
fn curves_levels_and_prices_are_found_in_a_record() {
    let bytes = include_bytes!("../../../../fixtures/benches/latency.jsonl");
    with_report("latency", bytes, |report| {
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

/// The details list the cells that the default choice leaves out.
#[test]
fn cells_that_a_bench_leaves_out_are_named() {
    let text = str::from_utf8(MEMORY).unwrap();
    let left_out = r#""bench":{"left_out":"Left out: --ops rmw.","#;
    let text = text.replacen(r#""bench":{"#, left_out, 1);
    with_report("memory", text.as_bytes(), |report| {
        let verbose = Style {
            verbose: Verbosity::Verbose,
            ..Style::default()
        };
        let text = draw(report, &verbose);
        assert!(text.contains("Left out: --ops rmw."), "{text}");
    });
}

/// The record of a run cut off in its sixth round: one curve has enough rounds for levels, the other does not.
#[test]
fn a_curve_with_too_few_rounds_has_no_levels() {
    let bytes = include_bytes!("../../../../fixtures/benches/latency-cut-off.jsonl");
    with_report("latency-cut-off", bytes, |report| {
        let curves = &latencies(report)["curves"];
        assert!(curves[0]["levels"].is_null() && curves[1]["levels"].is_array());
    });
}
