//! Each rule on a record in which its cause is planted, and on one in which it is not.

mod bloat;
mod chance;
mod collapsing;
mod faults;
mod heap;
mod host_memory;
mod judged;
mod no_effect;
mod own_acts;
#[path = "../sample/mod.rs"]
mod sample;
mod services;
mod surroundings;
mod time;
mod tracing;
mod trust;
mod walks;
mod wins;

use hugewise_model::bench;
use hugewise_model::run::findings;
use hugewise_model::run::findings::{Outcome, RULES};
use judged::{always, judge};
use sample::{huge_pages, table, with};

#[test]
fn findings_come_in_the_order_of_their_weight() {
    let findings = judge(&always(with(&huge_pages(), &[("peak_rss_bytes", 1.2e9)])));
    let outcomes: Vec<Outcome> = findings.iter().map(|finding| finding.outcome).collect();
    assert!(outcomes.is_sorted(), "{outcomes:?}");
    assert!(outcomes.len() > 3);
}

#[test]
fn no_rule_breaks_on_a_record_without_trials() {
    let mut record = sample::clear_win();
    let full = table(&record, 0.005);
    record.trials.clear();
    for table in [full, table(&record, 0.005)] {
        for finding in findings::judge(&record, &table) {
            assert!(
                !finding.text.contains("NaN") && !finding.text.contains("inf"),
                "{}",
                finding.text
            );
        }
    }
}

/// The texts in which rules are tried: a rule that is nowhere among them is untried.
const TRIED: [&str; 17] = [
    include_str!("bloat.rs"),
    include_str!("chance.rs"),
    include_str!("collapsing.rs"),
    include_str!("faults.rs"),
    include_str!("heap.rs"),
    include_str!("host_memory.rs"),
    include_str!("no_effect.rs"),
    include_str!("own_acts.rs"),
    include_str!("services.rs"),
    include_str!("surroundings.rs"),
    include_str!("time.rs"),
    include_str!("tracing.rs"),
    include_str!("trust.rs"),
    include_str!("walks.rs"),
    include_str!("wins.rs"),
    include_str!("../bench_findings.rs"),
    include_str!("../timeline.rs"),
];

#[test]
fn every_rule_is_tried_where_it_holds_and_where_it_does_not() {
    let tests: Vec<&str> = TRIED
        .iter()
        .flat_map(|text| text.split("#[test]"))
        .collect();
    for rule in RULES.iter().chain(bench::findings::RULES) {
        let quoted = format!("\"{}\"", rule.id());
        let own: String = tests
            .iter()
            .filter(|test| test.contains(&quoted))
            .copied()
            .collect();
        let says = |words: &[&str]| words.iter().any(|word| own.contains(word));
        assert!(says(&["Outcome::Shown"]), "{quoted} is never shown");
        let other = [
            "Outcome::NotShown",
            "Outcome::CannotTell",
            "None",
            "is_none()",
        ];
        assert!(says(&other), "{quoted} is only ever shown");
    }
}
