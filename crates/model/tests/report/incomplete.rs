//! Trials that failed, readings that are missing, a policy by itself.

use expect_test::expect;
use hugewise_model::base::histogram::distribution::{Distribution, Grain};
use hugewise_model::base::missing::Missing;
use hugewise_model::run::compare;
use hugewise_model::run::compare::Options;
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::record::{Removal, RemovalReason, StopReason};
use hugewise_model::run::report::Report;
use hugewise_model::run::trial::{Outcome, Reading, Readings};
use hugewise_model::text::Style;
use serde_json::Value;

use super::checked::{check, check_json, draw};
use crate::sample::{self, huge_pages, small_pages, table, thp};

#[test]
fn failed_trials_are_counted_and_quoted() {
    let mut record = sample::clear_win();
    for trial in record
        .trials
        .iter_mut()
        .filter(|t| t.policy == "thp=always")
        .take(3)
    {
        trial.outcome = Outcome::Signalled { signal: 9 };
        trial.stderr_tail = Some("sort: \u{1b}[31mcannot allocate memory\u{1b}[0m\n".to_owned());
        for (_, reading) in &mut trial.readings {
            *reading = Reading::missing(Missing::TrialFailed);
        }
    }
    let text = check("failed-trials", &record, table(&record, 0.008));
    assert!(
        text.contains("Failed: 3 of 48 trials (3 under thp=always)"),
        "{text}"
    );
    assert!(
        !text.contains('\u{1b}'),
        "what a program wrote reaches the terminal as escapes"
    );
}

/// The last round was cut off before its last trial: no comparison has it, and no line counts it.
#[test]
fn a_round_that_was_cut_off_is_not_counted() {
    let mut record = sample::clear_win();
    let rounds = record.compared_rounds();
    record.trials.pop();
    assert_eq!(record.compared_rounds(), rounds - 1);
    let table = compare::table(&record, &Options::default()).unwrap();
    let text = draw(
        &Report::new(&record, table, Vec::new(), None),
        &Style::default(),
    );
    assert!(text.contains(&format!(", {} rounds", rounds - 1)), "{text}");
}

/// A table of dashes tells nothing that the sentence does not.
#[test]
fn before_one_round_is_complete_there_is_no_table() {
    let mut record = sample::clear_win();
    record.trials.truncate(1);
    record.end.as_mut().expect("an end").reason = StopReason::Interrupted;
    let table = compare::table(&record, &Options::default()).unwrap();
    let text = draw(
        &Report::new(&record, table, Vec::new(), None),
        &Style::default(),
    );
    assert!(
        text.starts_with("Interrupted before one round of sort"),
        "{text}"
    );
    assert!(!text.contains("wall time"), "{text}");
}

#[test]
fn every_trial_of_a_policy_may_fail() {
    let mut record = sample::clear_win();
    for trial in record
        .trials
        .iter_mut()
        .filter(|t| t.policy == "thp=always")
    {
        trial.outcome = Outcome::NotStarted {
            error: "No such file or directory (os error 2)".to_owned(),
        };
        trial.readings = Readings::default();
    }
    record.end = None;
    record.warnings = vec!["the record has no end".to_owned()];
    let mut table = table(&record, 0.008);
    table.verdict.reasons.insert(
        "thp=always".to_owned(),
        "all of its trials failed".to_owned(),
    );
    let text = check("all-failed", &record, table);
    assert!(
        text.replace('\n', " ").contains("all of its trials failed"),
        "{text}"
    );
}

#[test]
fn percentiles_of_one_policy_lie_between_those_of_its_trials() {
    let mut record = sample::record(&[(Policy::as_is(), small_pages())], 7);
    for (index, trial) in (1..).zip(&mut record.trials) {
        let mut histogram = Distribution::new(Grain::Bucket, 1_000);
        for request in 1..=20_000_u64 {
            histogram.add(request * 100 * index, 1);
        }
        let reading = Reading::Histogram {
            histogram: Box::new(histogram),
        };
        trial.readings.insert("latency_seconds".to_owned(), reading);
    }
    let report = Report::new(&record, table(&record, 0.01), Vec::new(), None);
    let text = draw(&report, &Style::default());
    let rows: Vec<&str> = text
        .lines()
        .filter(|row| row.starts_with("latency"))
        .collect();
    expect![[r#"
        latency, p50      3.15 ms                   –  1.00 ms  7.01 ms
        latency, p90      9.04 ms                   –  1.80 ms  12.6 ms
        latency, p99      13.0 ms                   –  1.98 ms  13.9 ms
        latency, p99.9    13.9 ms                   –  2.00 ms  14.0 ms
        latency, max      8.00 ms  [2.00 ms, 14.0 ms]  2.00 ms  14.0 ms"#]]
    .assert_eq(&rows.join("\n"));
}

#[test]
fn a_single_policy_is_a_measurement() {
    let arms = [(thp("thp=always", Thp::Always), huge_pages())];
    let record = sample::record(&arms, 8);
    let text = check("single-policy", &record, table(&record, 0.01));
    let start =
        "sort -n numbers.txt under thp=always: wall time 3.38 s (median of 8 trials; 95 %: 3.3";
    assert!(text.replace('\n', " ").starts_with(start), "{text}");

    let few = sample::record(&arms, 5);
    let report = Report::new(&few, table(&few, 0.01), Vec::new(), None);
    let answer = report.answers().remove(0);
    assert!(
        answer.ends_with("(median of 5 trials; its interval needs 6)."),
        "{answer}"
    );

    let mut none = few.clone();
    none.trials.clear();
    let report = Report::new(&none, table(&none, 0.01), Vec::new(), None);
    let answer = report.answers().remove(0);
    assert!(
        answer.ends_with("nothing was measured: no trial ended."),
        "{answer}"
    );
}

#[test]
fn an_ordinary_user_sees_what_to_grant() {
    let mut record = sample::clear_win();
    let root = Missing::not_permitted("root");
    sample::take_away(
        &mut record,
        &["huge_anon_peak_bytes", "peak_rss_bytes"],
        &root,
    );
    let old = Missing::not_supported("PAGEMAP_SCAN (Linux 6.7)");
    sample::take_away(&mut record, &["huge_zero_exit_bytes"], &old);
    record.header.host.thp = Err(Missing::not_supported("transparent huge pages"));
    let text = check("ordinary-user", &record, table(&record, 0.008));
    assert!(text.contains("not measured ¹"), "{text}");
    assert!(text.contains("needs root"), "{text}");
}

#[test]
fn everything_may_be_missing() {
    let mut record = sample::clear_win();
    for trial in &mut record.trials {
        for (_, reading) in &mut trial.readings {
            *reading = Reading::missing(Missing::TooShort);
        }
    }
    check("everything-missing", &record, table(&record, 0.008));
}

#[test]
fn numbers_that_are_none_never_appear_in_json() {
    let mut record = sample::clear_win();
    record.trials[0]
        .readings
        .insert("user_seconds".to_owned(), Reading::of(f64::NAN));
    let mut table = table(&record, 0.008);
    table.comparisons[0].ratio = Some(f64::INFINITY);
    table.comparisons[0].low = Some(f64::NEG_INFINITY);
    let report = Report::new(&record, table, Vec::new(), None);
    let text = report.json();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["comparisons"][0]["ratio"], Value::Null);
    check_json(&report);
}

/// Ctrl-C in the first round: of some policies there is no trial.
#[test]
fn a_policy_that_was_never_run_is_told_as_such() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let mut record = sample::record(&arms, 1);
    record.trials.retain(|trial| trial.policy == "as-is");
    let table = compare::table(&record, &Options::default()).unwrap();
    let report = Report::new(&record, table, Vec::new(), None);
    let text = draw(&report, &Style::default());
    assert!(text.contains("\n¹ no trial was run\n"), "{text}");
    assert!(!text.contains("not requested"), "{text}");
}

#[test]
fn a_floor_is_told_as_people_read_sizes() {
    let floor = 12_869_632;
    let told = Missing::BelowFloor { floor }.to_string();
    assert!(told.ends_with("(12.3 MiB)"), "{told}");
}

#[test]
fn a_policy_that_was_dropped_is_told_with_its_reason() {
    let mut record = sample::clear_win();
    let dropped = Policy {
        name: "malloc=thp".to_owned(),
        ..Policy::as_is()
    };
    record.header.plan.policies.push(dropped);
    record.remove(Removal {
        round: 0,
        policy: "malloc=thp".to_owned(),
        why: RemovalReason::CannotAct("/bin/x is a Go program".to_owned()),
    });
    let report = Report::new(&record, table(&record, 0.008), Vec::new(), None);
    let text = draw(&report, &Style::default());
    let line = "Dropped before the first round: malloc=thp cannot act: /bin/x is a Go program.";
    let unwrapped = text.replace("\n    ", " ");
    assert!(unwrapped.contains(line), "{text}");
    let json: Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(json["dropped"][0]["policy"], "malloc=thp");
}
