//! The first screens of a dozen records, as they are.

use std::path::Path;

use expect_test::expect_file;
use hugewise_experiment::run::compare::{Options, table};
use hugewise_experiment::run::record::parse;
use hugewise_text::Style;

use super::checked::{draw, golden};
use super::documented::text_of;

/// Each screen with its record: one of every situation. The test `records` has the screen of two records.
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
