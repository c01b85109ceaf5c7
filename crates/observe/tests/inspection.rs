//! Saved processes of `fixtures/spaces`, rendered in every form and compared with `fixtures/golden`.
//!
//! `UPDATE_EXPECT=1 cargo test -p hugewise-observe inspection` rewrites the expected files; review the difference
//! before you commit it.

#![expect(clippy::unwrap_used, reason = "a panic is a test that fails")]

use std::path::PathBuf;

use expect_test::expect_file;
use hugewise_observe::inspect::reasons::{Certainty, Code};
use hugewise_observe::inspect::view::{
    Brief, Glob, Inspection, changes, csv, map, several, several_csv,
};
use hugewise_text::document::Level;
use hugewise_text::plain_text::level;
use hugewise_text::{Color, Style, Verbosity, to_markdown, to_text};

fn fixture(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures", name]
        .iter()
        .collect()
}

/// Judges the space again, because the judgements in the file are as old as the file.
fn inspection(name: &str) -> Inspection {
    let read = frozen(name);
    Inspection::of(read.space, read.settings)
}

fn frozen(name: &str) -> Inspection {
    let text = match name {
        "grown" => include_str!("../../../fixtures/spaces/grown.json"),
        _ => include_str!("../../../fixtures/spaces/grown-user.json"),
    };
    serde_json::from_str(text).unwrap()
}

fn text(inspection: &Inspection, only: Option<&Glob>, verbose: Verbosity) -> String {
    let style = Style {
        verbose,
        ..Style::default()
    };
    let text = to_text(&inspection.document(only, level(verbose)), &style);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
    }
    text
}

/// The same program, read by root and by its own user.
const FROZEN: [&str; 2] = ["grown", "grown-user"];

#[test]
fn as_text() {
    for name in FROZEN {
        let inspection = inspection(name);
        let short = text(&inspection, None, Verbosity::Normal);
        assert!(short.lines().count() <= 24, "{short}");
        expect_file![fixture(&format!("golden/inspect-{name}.txt"))].assert_eq(&short);
        let all = text(&inspection, None, Verbosity::Verbose);
        expect_file![fixture(&format!("golden/inspect-{name}-verbose.txt"))].assert_eq(&all);
    }
    let inspection = inspection("grown");
    let heap = text(&inspection, Some(&Glob::new("heap")), Verbosity::Normal);
    expect_file![fixture("golden/inspect-heap.txt")].assert_eq(&heap);
    let all = text(&inspection, None, Verbosity::Verbose);
    let mappings = all
        .lines()
        .filter(|line| line.contains(" of ") && line.contains('-'));
    assert!(mappings.count() >= inspection.space.mappings.len());
}

/// Hidden mappings need no words, and shown mappings have all of them.
#[test]
fn words_for_what_is_shown_are_enough() {
    let heap = Glob::new("heap");
    for (name, only, verbose) in [
        ("grown", None, Verbosity::Normal),
        ("grown-user", None, Verbosity::Normal),
        ("grown", Some(&heap), Verbosity::Normal),
        ("grown", None, Verbosity::Verbose),
    ] {
        let whole = inspection(name);
        let frozen = frozen(name);
        let enough = Inspection::for_text(frozen.space, frozen.settings, only, level(verbose));
        assert_eq!(text(&enough, only, verbose), text(&whole, only, verbose));
        let silent = |all: &Inspection| all.judgements.iter().any(|one| one.evidence.is_empty());
        assert!(!silent(&whole));
        assert_eq!(silent(&enough), verbose == Verbosity::Normal);
        assert_eq!(enough.summary, whole.summary);
    }
    let frozen = frozen("grown");
    let short = Inspection::in_short(frozen.space, frozen.settings);
    assert_eq!(Brief::of(&short), Brief::of(&inspection("grown")));
}

#[test]
fn as_a_map_and_for_programs() {
    let inspection = inspection("grown");
    let style = Style::default();
    let drawn = to_text(&map(&inspection, &style, &|_| false), &style);
    expect_file![fixture("golden/inspect-map.txt")].assert_eq(&drawn);
    let coloured = Style {
        color: Color::Always,
        ..style
    };
    let painted = to_text(&map(&inspection, &coloured, &|_| false), &coloured);
    assert!(painted.contains("\u{1b}[") && !painted.contains("\\u{1b}"));
    let all = std::slice::from_ref(&inspection);
    expect_file![fixture("golden/inspect-grown.csv")].assert_eq(&csv(all));
    let document = inspection.document(None, Level::First);
    let markdown = to_markdown(&document, Verbosity::Normal);
    expect_file![fixture("golden/inspect-grown.md")].assert_eq(&markdown);
}

/// Long runs of one kind are shown as a count, and the legend explains the count.
#[test]
fn the_legend_of_the_map_explains_counts() {
    let mut inspection = inspection("grown");
    let grown = inspection
        .judgements
        .iter_mut()
        .find(|one| one.code == Code::PteTableExists)
        .unwrap();
    grown.end = grown.start + (66 << 21);
    let style = Style::default();
    let drawn = to_text(&map(&inspection, &style, &|_| false), &style);
    let legend = "  s×66  66 cells of this kind in a row\n";
    assert!(drawn.contains(legend), "{drawn}");
    assert_eq!(drawn.matches("s×66").count(), 2, "{drawn}");
}

/// The behaviour of the program is known: see `fixtures/spaces/README.md`.
#[test]
fn both_users_see_what_was_done() {
    for name in FROZEN {
        let inspection = inspection(name);
        let growth = &inspection.growth;
        assert_eq!(growth.len(), 1, "{name}: {growth:?}");
        assert_eq!(growth[0].resident_bytes, 12 << 20);
        let zero = inspection.summary.huge_zero;
        assert_eq!(zero, Some(4 << 20), "{name}");
        assert_eq!(inspection.summary.huge_anonymous, Some(6 << 20), "{name}");
        let parted = inspection
            .judgements
            .iter()
            .filter(|one| one.code == Code::VmaSplit);
        assert_eq!(parted.map(|one| one.ranges).sum::<u64>(), 3, "{name}");
        let grown = &inspection.of_mapping(growth[0].mapping)[0];
        let Certainty::OneOf(codes) = &grown.certainty else {
            panic!("{grown:?}");
        };
        let split_is_possible = codes.contains(&Code::PmdSplit);
        assert_eq!(
            split_is_possible,
            name == "grown-user",
            "only frames exclude it"
        );
    }
}

#[test]
fn changes_are_told_by_what_became_of_it() {
    let before = inspection("grown");
    let mut now = before.clone();
    let grown = now
        .judgements
        .iter_mut()
        .find(|one| one.code == Code::PteTableExists)
        .unwrap();
    grown.code = Code::AlreadyPmd;
    let (first, bytes) = (grown.start, grown.end - grown.start);
    let told = changes(&before, &now);
    let [one] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(
        (one.from, one.to),
        (Some(Code::PteTableExists), Some(Code::AlreadyPmd))
    );
    assert_eq!((one.first, one.bytes), (first, bytes));
    assert!(changes(&now, &now).is_empty());
    now.judgements.retain(|one| one.code != Code::AlreadyPmd);
    assert!(changes(&before, &now).iter().all(|one| one.to.is_none()));
}

#[test]
fn many_are_a_line_each_the_largest_first() {
    let briefs: Vec<Brief> = FROZEN
        .iter()
        .filter_map(|name| Brief::of(&inspection(name)))
        .collect();
    let table = to_text(&several(&briefs), &Style::default());
    assert_eq!(table.lines().count(), 5, "{table}");
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    assert!(table.contains("PTE_TABLE_EXISTS"), "{table}");
    assert_eq!(several_csv(&briefs).lines().count(), 3);
    assert_eq!(to_text(&several(&[]), &Style::default()).lines().count(), 1);
}
