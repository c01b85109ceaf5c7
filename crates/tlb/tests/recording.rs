//! A recording of misses, in every output format.

#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use expect_test::expect_file;
use hugewise_base::jsonl::lines;
use hugewise_base::recording::Recorded;
use hugewise_text::{Style, Verbosity, to_markdown, to_text};
use hugewise_tlb::misses::{Analysis, Conclusion, Summary};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn golden(name: &str) -> PathBuf {
    fixtures().join("golden").join(name)
}

fn summary() -> Summary {
    let bytes = include_bytes!("../../../fixtures/misses/server.jsonl");
    let mut analysis = None;
    for line in lines(bytes) {
        let event = line.read().expect("an event").expect("a whole line");
        match &mut analysis {
            None => analysis = Analysis::begin(&event),
            Some(analysis) => analysis.push(&event),
        }
    }
    analysis.expect("a beginning").summary().expect("an end")
}

/// The counts of the events in the file.
#[test]
fn the_recording_comes_to_what_is_in_it() {
    let summary = summary();
    assert_eq!((summary.misses, summary.stores), (177, 19));
    assert_eq!(summary.conclusion, Conclusion::Partly);
    let standings: Vec<(&str, u64)> = summary
        .standings
        .iter()
        .map(|row| (row.name.as_str(), row.misses))
        .collect();
    let expected = [
        ("could", 99),
        ("huge", 39),
        ("edge", 17),
        ("shared", 9),
        ("file", 6),
        ("kernel", 5),
        ("unknown", 2),
    ];
    assert_eq!(standings, expected);
}

#[test]
fn it_is_drawn_as_ever() {
    let summary = summary();
    let document = summary.document();
    let text = to_text(&document, &Style::default());
    assert!(text.lines().count() <= 24, "{text}");
    expect_file![golden("where-server.txt")].assert_eq(&text);
    let verbose = Verbosity::Verbose;
    let style = Style {
        verbose,
        ..Style::default()
    };
    expect_file![golden("where-server-verbose.txt")].assert_eq(&to_text(&document, &style));
    expect_file![golden("where-server.csv")].assert_eq(&summary.csv());
    let markdown = to_markdown(&document, verbose);
    expect_file![golden("where-server.md")].assert_eq(&markdown);
    let json = serde_json::to_string_pretty(&summary).expect("text") + "\n";
    expect_file![golden("where-server.json")].assert_eq(&json);
    assert_eq!(
        serde_json::from_str::<Summary>(&json).expect("JSON"),
        summary
    );
}
