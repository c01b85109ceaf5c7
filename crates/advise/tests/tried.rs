//! The experiments on rules: the compiled-in results equal the kept records.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read the records that are kept"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use hugewise_advise::advice::{advise, named};
use hugewise_advise::fact::Facts;
use hugewise_advise::knowledge::Knowledge;
use hugewise_advise::rule::Rule;
use hugewise_advise::tried::{experiment, kept};
use hugewise_base::gzip::unpacked;
use hugewise_experiment::run::record;
use hugewise_text::{Style, to_text};

const MS_A_DAY: u64 = 86_400_000;

/// Days from 1970 to a date of this century, in which every fourth year is a leap year.
fn days(date: &str) -> u64 {
    let parts: Vec<u64> = date
        .split('-')
        .map(|part| part.parse().expect("a number"))
        .collect();
    let [year, month, day] = parts[..] else {
        panic!("{date} is no day");
    };
    let lengths = [
        31,
        28 + u64::from(year % 4 == 0),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
    ];
    let months: u64 = lengths
        .iter()
        .take(usize::try_from(month - 1).expect("a month"))
        .sum();
    (year - 1970) * 365 + (year - 1969) / 4 + months + day - 1
}

fn sources(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn knowledge() -> Knowledge {
    Knowledge::compiled().expect("every file is right")
}

fn rules(knowledge: &Knowledge) -> impl Iterator<Item = &Rule> {
    knowledge.subjects().flat_map(|subject| &subject.rules)
}

#[test]
fn what_is_compiled_in_is_what_the_records_say() {
    let knowledge = knowledge();
    let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for test in rules(&knowledge).flat_map(|rule| &rule.tested) {
        let metrics = named.entry(&test.record).or_default();
        metrics.extend(test.metric.as_deref());
    }
    assert!(!named.is_empty());
    let kept = named.into_iter().map(|(path, metrics)| {
        let text = fs::read(sources(path)).expect("the record is kept");
        let record = record::parse(&unpacked(&text).expect("gzip")).expect("the record is whole");
        let metrics: Vec<_> = metrics.into_iter().collect();
        experiment(&record, path, &metrics).expect("the record has a comparison")
    });
    let all: Vec<_> = kept.collect();
    let text = serde_json::to_string_pretty(&all).expect("numbers and words");
    expect_file!["../knowledge/tried.json"].assert_eq(&(text + "\n"));
}

#[test]
fn every_test_has_its_effect_and_its_day() {
    let (knowledge, kept) = (knowledge(), kept().expect("it is right"));
    for rule in rules(&knowledge) {
        for tried in knowledge.tried(rule) {
            assert!(tried.effect.is_some(), "{}: {:?}", rule.id, tried.test);
            let own = kept.iter().find(|it| it.record == tried.test.record);
            let made = own.expect("it is kept").unix_ms / MS_A_DAY;
            assert_eq!(made, days(&tried.test.date), "{}", rule.id);
        }
    }
}

#[test]
fn advice_says_what_was_measured_elsewhere_with_its_interval() {
    let knowledge = knowledge();
    let mut host = Facts::default();
    host.set("thp.enabled", "always");
    let mut app = named(&knowledge, "go=1.26").expect("a subject");
    app.facts.set("process.anon.bytes", 10_u64 << 20);
    app.facts.set("process.thp_disabled", false);
    app.facts.set("env.", "");
    let advice = advise(&knowledge, &host, vec![app], &[]);
    let style = Style {
        width: 400,
        ..Style::default()
    };
    let text = to_text(&advice.document(), &style);
    let kept = kept().expect("it is right");
    let own = kept.iter().find(|it| it.record.contains("go-small-heap"));
    let mut effects = own.expect("it is kept").effects.iter();
    let memory = effects.find(|it| it.metric == "peak_rss_bytes");
    let words = memory.expect("memory was compared").words();
    assert!(
        words.starts_with("peak memory ") && words.contains("(95 %: "),
        "{words}"
    );
    let line = format!("Tried by us, confirmed: {words}");
    assert!(text.contains(&line), "{text}");
}
