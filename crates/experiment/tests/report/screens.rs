//! The first screens of a dozen records, verbatim.

use std::path::Path;

use expect_test::expect_file;
use hugewise_experiment::run::compare::{Options, idle_states, table};
use hugewise_experiment::run::record::parse;
use hugewise_text::Style;

use super::checked::{draw, golden};
use super::documented::text_of;

/// Each screen with its record: one for every situation. The test `records` has the screen of two records.
const SCREENS: [(&str, &str); 11] = [
    ("all-failed", "fixtures/runs/all-failed.jsonl"),
    ("allocators", "examples/allocators/record.jsonl.gz"),
    ("bench-memory", "fixtures/benches/memory.jsonl"),
    ("carry-over", "fixtures/runs/carry-over.jsonl"),
    ("clear-win", "fixtures/runs/clear-win.jsonl"),
    ("five-policies", "fixtures/runs/five-policies.jsonl"),
    ("jvm", "evidence/jvm.jsonl.gz"),
    ("no-effect", "fixtures/runs/no-effect.jsonl"),
    ("programs", "fixtures/runs/programs.jsonl"),
    ("python-dict", "docs/records/python-dict.jsonl"),
    ("redis", "examples/redis/record.jsonl.gz"),
];

#[test]
fn screens_are_as_they_were() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (name, path) in SCREENS {
        let record = parse(text_of(&root.join(path)).as_bytes()).unwrap();
        let compared = table(&record, &Options::default()).unwrap();
        let report = hugewise_bench::report(&record, compared, Some(path.to_owned()));
        let text = draw(&report, &Style::default());
        expect_file![golden(&format!("{name}.txt"))].assert_eq(&text);
    }
}

/// Eight runs of malloc=thp after idle: seven paid for memory that the host had taken back, and one did not. Those of
/// the baseline never did.
#[test]
fn runs_after_idle_are_sorted_by_what_they_paid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bytes = text_of(&root.join("docs/records/python-dict.jsonl"));
    let record = parse(bytes.as_bytes()).unwrap();
    let states = idle_states(&record, "malloc=thp").unwrap();
    assert_eq!((states.cold.len(), states.warm.len()), (7, 1));
    let slowest = states.warm.iter().copied().fold(0.0, f64::max);
    assert!(states.cold.iter().all(|wall| *wall > slowest), "{states:?}");
    let baseline = idle_states(&record, "as-is").unwrap();
    assert_eq!((baseline.cold.len(), baseline.warm.len()), (0, 8));
    assert!(!baseline.is_mixed());
    // Without a price of cold memory, no line appears.
    let mut unknown = record;
    unknown
        .trials
        .iter_mut()
        .for_each(|it| it.first_touch = None);
    assert!(idle_states(&unknown, "malloc=thp").is_err());
}
