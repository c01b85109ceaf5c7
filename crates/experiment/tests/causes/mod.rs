//! Each cause on a record with the cause, and on one without it.
#![expect(
    clippy::unwrap_used,
    reason = "a test may fail by panicking, in its helpers too"
)]

mod benches;
mod bloat;
mod chance;
mod collapsing;
mod faults;
mod heap;
mod host_memory;
mod judged;
mod no_effect;
mod own_acts;
mod services;
mod slow_requests;
mod surroundings;
mod time;
mod tracing;
mod trust;
mod walks;
mod wins;

use std::collections::BTreeSet;

use self::judged::{always, judge};
use crate::sample::{self, huge_pages, table, with};
use hugewise_experiment::run::cause::{CauseId, CauseOutcome, causes, explanations};

#[test]
fn causes_come_in_the_order_of_their_weight() {
    let causes = judge(&always(with(&huge_pages(), &[("peak_rss_bytes", 1.2e9)])));
    let outcomes: Vec<CauseOutcome> = causes.iter().map(|cause| cause.outcome).collect();
    assert!(outcomes.is_sorted(), "{outcomes:?}");
    assert!(outcomes.contains(&CauseOutcome::Shown) && outcomes.contains(&CauseOutcome::NotShown));
}

#[test]
fn no_rule_breaks_on_a_record_without_trials() {
    let mut record = sample::clear_win();
    let full = table(&record, 0.005);
    record.trials.clear();
    for table in [full, table(&record, 0.005)] {
        let debug = format!("{:?}", causes(&record, &table));
        assert!(!debug.contains("NaN") && !debug.contains(" inf"), "{debug}");
    }
}

/// A program reads the arm, the outcome, the name and then the figures, all on one level.
#[test]
fn a_cause_is_one_flat_object() {
    let causes = judge(&always(with(&huge_pages(), &[("peak_rss_bytes", 1.2e9)])));
    let json = serde_json::to_value(&causes).unwrap();
    let all = json.as_array().unwrap();
    let bloat = all.iter().find(|it| it["cause"] == "memory_bloat").unwrap();
    assert_eq!(bloat["arm"], "thp=always");
    assert_eq!(bloat["outcome"], "shown");
    assert_eq!(bloat["huge_bytes"]["baseline"], 0.0);
    let times = all.iter().find(|it| it["cause"] == "breakdown").unwrap();
    assert_eq!(times["dominant"], "user_mode");
    assert!(times["seconds"]["wall"].as_f64().unwrap() < -0.8);
}

#[test]
fn every_fact_and_cause_is_explained_once_and_in_full() {
    let all = explanations().expect("a good file");
    let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
    let once: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(once.len(), all.len(), "each once");
    let causes: Vec<&str> = CauseId::ALL.iter().map(|id| id.name()).collect();
    assert_eq!(names[..causes.len()], causes);
    assert!(once.contains("in_force"));
    for it in &all {
        for text in [&it.claims, &it.evidence, &it.refuted, &it.next] {
            let is_full = text.len() > 10 && text.ends_with('.');
            assert!(is_full, "{}: {text}", it.name);
        }
    }
}

/// The tests in which rules are tried.
const TRIED: [&str; 17] = [
    include_str!("benches.rs"),
    include_str!("bloat.rs"),
    include_str!("chance.rs"),
    include_str!("collapsing.rs"),
    include_str!("faults.rs"),
    include_str!("heap.rs"),
    include_str!("host_memory.rs"),
    include_str!("no_effect.rs"),
    include_str!("own_acts.rs"),
    include_str!("services.rs"),
    include_str!("slow_requests.rs"),
    include_str!("surroundings.rs"),
    include_str!("time.rs"),
    include_str!("tracing.rs"),
    include_str!("trust.rs"),
    include_str!("walks.rs"),
    include_str!("wins.rs"),
];

#[test]
fn every_cause_is_tried_where_it_holds_and_where_it_does_not() {
    let tests = TRIED.iter().flat_map(|text| text.split("#[test]"));
    let tests: Vec<&str> = tests.collect();
    for id in CauseId::ALL {
        let named = [format!(", {id:?}"), format!("CauseId::{id:?}")];
        let is_own = |test: &&&str| named.iter().any(|name| test.contains(name.as_str()));
        let own: String = tests.iter().filter(is_own).copied().collect();
        let says = |words: &[&str]| words.iter().any(|word| own.contains(word));
        assert!(
            says(&["Shown)", "CauseOutcome::Shown"]),
            "{id:?} is never shown"
        );
        let other = ["NotShown", "CannotTell", "is_none()", "is_silent"];
        assert!(says(&other), "{id:?} is only ever shown");
    }
}
