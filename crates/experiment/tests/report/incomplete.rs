//! Failed trials, missing readings, a single policy.

use hugewise_base::histogram::distribution::{Distribution, Grain};
use hugewise_base::missing::Missing;
use hugewise_experiment::run::answer::{Answer, Call, Doubt, Row, Word};
use hugewise_experiment::run::compare::{self, Options, PolicyAnswer as Judgement, Statistic, Why};
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::{Removal, RemovalReason, StopReason};
use hugewise_experiment::run::report::Report;
use hugewise_experiment::run::stats::Quantile;
use hugewise_experiment::run::trial::{Outcome, Reading, Readings};
use hugewise_text::Style;
use serde_json::Value;

use super::checked::{answer_of, check, check_json, chosen, draw, judged, report};
use crate::sample::{self, huge_pages, small_pages, table, thp};

/// Returns the row of a metric.
fn row<'a>(answer: &'a Answer, metric: &str) -> &'a Row {
    let mut rows = answer.rows.iter();
    let found = rows.find(|row| row.metric == metric);
    found.unwrap_or_else(|| panic!("no row of {metric}"))
}

#[test]
fn failed_trials_are_counted_and_quoted() {
    let mut record = sample::clear_win();
    let of_always = record.trials.iter_mut();
    let of_always = of_always.filter(|t| t.policy == "thp=always");
    for trial in of_always.take(3) {
        trial.outcome = Outcome::Signalled { signal: 9 };
        trial.stderr_tail = Some("sort: \u{1b}[31mcannot allocate memory\u{1b}[0m\n".to_owned());
        for (_, reading) in &mut trial.readings {
            *reading = Reading::missing(Missing::TrialFailed);
        }
    }
    let answer = check("failed-trials", &record, table(&record, 0.008));
    let failed = answer.doubts.iter().find_map(|doubt| match doubt {
        Doubt::FailedTrials { by_arm, of, .. } => Some((by_arm.clone(), *of)),
        _ => None,
    });
    assert_eq!(failed, Some((vec![("thp=always".to_owned(), 3)], 48)));
    assert_eq!(answer.arm("thp=always").unwrap().trials, [9, 12]);
    let text = draw(
        &Report::new(&record, table(&record, 0.008), None),
        &Style::default(),
    );
    assert!(!text.contains('\u{1b}'), "a program commands the terminal");
}

/// The last round was cut off before its last trial: no comparison includes it, and no line counts it.
#[test]
fn a_round_that_was_cut_off_is_not_counted() {
    let mut record = sample::clear_win();
    let rounds = record.compared_rounds();
    record.trials.pop();
    assert_eq!(record.compared_rounds(), rounds - 1);
    let report = report(&record);
    let answer = report.answer();
    assert_eq!(answer.circumstances[0].rounds, rounds - 1);
    assert_eq!(judged(answer, "thp=always").rounds, rounds - 1);
}

#[test]
fn before_one_round_is_complete_there_are_too_few() {
    let mut record = sample::clear_win();
    record.trials.truncate(1);
    record.end.as_mut().expect("an end").reason = StopReason::Interrupted;
    let report = report(&record);
    let answer = report.answer();
    assert_eq!((answer.word, chosen(answer)), (Word::TooFewRounds, None));
    let stopped = &answer.circumstances[0].stopped;
    assert_eq!(stopped, &Some(StopReason::Interrupted));
}

#[test]
fn every_trial_of_a_policy_may_fail() {
    let mut record = sample::clear_win();
    let error = "No such file or directory (os error 2)".to_owned();
    let outcome = Outcome::NotStarted { error };
    let of_always = record.trials.iter_mut();
    for trial in of_always.filter(|t| t.policy == "thp=always") {
        trial.outcome = outcome.clone();
        trial.readings = Readings::default();
    }
    record.end = None;
    record.warnings = vec!["the record has no end".to_owned()];
    let mut table = table(&record, 0.008);
    let first = outcome.to_string();
    let why = Why::EveryTrialFailed { first };
    let verdict = &mut table.verdict;
    verdict.reasons.insert("thp=always".to_owned(), why.clone());
    let judgement = Judgement::NotDecided;
    verdict.policies.insert("thp=always".to_owned(), judgement);
    let answer = check("all-failed", &record, table);
    assert_eq!(judged(&answer, "thp=always").call, Call::Failed(why));
    assert_eq!(answer.arm("thp=always").unwrap().trials, [0, 12]);
    // The policy could not be tried; the baseline was measured.
    assert_eq!(answer.word, Word::CouldNotTry);
}

#[test]
fn percentiles_of_one_policy_are_those_of_all_its_requests() {
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
    let table = table(&record, 0.01);
    let answer = answer_of(&record, table);
    let of = |quantile| {
        let mut rows = answer.rows.iter();
        let statistic = Statistic::Quantile(quantile);
        let is_it = |row: &&Row| row.metric == "latency_seconds" && row.statistic == statistic;
        rows.find(is_it).unwrap().cells[0].value.unwrap() * 1e3
    };
    for (quantile, milliseconds) in [
        (Quantile::P50, 3.15),
        (Quantile::P90, 9.04),
        (Quantile::P99, 13.0),
        (Quantile::P999, 13.9),
    ] {
        let found = of(quantile);
        assert!(
            (found / milliseconds - 1.0).abs() < 0.01,
            "{quantile:?}: {found}"
        );
    }
}

#[test]
fn a_single_policy_is_a_measurement() {
    let arms = [(thp("thp=always", Thp::Always), huge_pages())];
    let record = sample::record(&arms, 8);
    let answer = check("single-policy", &record, table(&record, 0.01));
    assert_eq!((answer.word, answer.headline.len()), (Word::Measured, 0));
    assert_eq!(answer.choice, None);
    let wall = row(&answer, "wall_seconds").cells[0].value.unwrap();
    assert!((3.37..3.39).contains(&wall), "{wall}");

    let mut none = record;
    none.trials.clear();
    let table = table(&none, 0.01);
    assert_eq!(answer_of(&none, table).word, Word::Failed);
}

#[test]
fn a_missing_reading_keeps_its_reason() {
    let mut record = sample::clear_win();
    let root = Missing::not_permitted("root");
    let unread = ["huge_anon_peak_bytes", "peak_rss_bytes"];
    sample::take_away(&mut record, &unread, &root);
    let old = Missing::not_supported("PAGEMAP_SCAN (Linux 6.7)");
    sample::take_away(&mut record, &["huge_zero_exit_bytes"], &old);
    record.header.host.thp = Err(Missing::not_supported("transparent huge pages"));
    let answer = check("ordinary-user", &record, table(&record, 0.008));
    for metric in unread {
        let cells = &row(&answer, metric).cells;
        assert_eq!(cells.len(), 3);
        let is_told = |at: usize| cells[at].missing.as_ref() == Some(&root);
        assert!((0..3).all(|at| is_told(at) && cells[at].value.is_none()));
    }
}

#[test]
fn everything_may_be_missing() {
    let mut record = sample::clear_win();
    for trial in &mut record.trials {
        for (_, reading) in &mut trial.readings {
            *reading = Reading::missing(Missing::TooShort);
        }
    }
    let table = compare::table(&record, &Options::default()).unwrap();
    let answer = check("everything-missing", &record, table);
    assert_eq!((answer.word, chosen(&answer)), (Word::Failed, None));
    let cells = answer.rows.iter().flat_map(|row| &row.cells);
    assert!(cells.clone().count() > 20);
    assert!(cells.map(|cell| &cell.value).all(Option::is_none));
}

#[test]
fn numbers_that_are_none_never_appear_in_json() {
    let mut record = sample::clear_win();
    let none = Reading::of(f64::NAN);
    let readings = &mut record.trials[0].readings;
    readings.insert("user_seconds".to_owned(), none);
    let mut table = table(&record, 0.008);
    let first = &mut table.comparisons[0];
    assert_eq!(first.metric, "wall_seconds");
    first.ratio = Some(f64::INFINITY);
    first.low = Some(f64::NEG_INFINITY);
    let report = Report::new(&record, table, None);
    let json: Value = serde_json::from_str(&report.json()).unwrap();
    let claim = &json["answer"]["claims"][0];
    assert_eq!(claim["effect"]["ratio"], Value::Null);
    assert_eq!(claim["interval"]["low"], Value::Null);
    check_json(&report);
}

/// Ctrl-C in the first round: some policies have no trial.
#[test]
fn a_policy_that_was_never_run_is_known_as_such() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let mut record = sample::record(&arms, 1);
    record.trials.retain(|trial| trial.policy == "as-is");
    let report = report(&record);
    let cells = &row(report.answer(), "wall_seconds").cells;
    assert!(cells[0].value.is_some(), "{cells:?}");
    assert_eq!(
        (&cells[1].arm, &cells[1].missing),
        (&"thp=always".to_owned(), &Some(Missing::NotRun))
    );
    assert_eq!(report.answer().arm("thp=always").unwrap().trials, [0, 0]);
}

#[test]
fn a_floor_is_told_as_people_read_sizes() {
    let floor = 12_869_632;
    let told = Missing::BelowFloor { floor }.to_string();
    assert!(told.ends_with("(12.3 MiB)"), "{told}");
}

#[test]
fn a_policy_that_was_dropped_is_known_with_its_reason() {
    let mut record = sample::clear_win();
    let dropped = Policy {
        name: "malloc=thp".to_owned(),
        ..Policy::as_is()
    };
    record.header.plan.policies.push(dropped);
    let why = "/bin/x is a Go program".to_owned();
    record.remove(Removal {
        round: 0,
        policy: "malloc=thp".to_owned(),
        why: RemovalReason::CannotAct(why.clone()),
    });
    let report = Report::new(&record, table(&record, 0.008), None);
    let answer = report.answer();
    let doubt = Doubt::Dropped {
        arm: "malloc=thp".to_owned(),
        rounds: 0,
        why,
    };
    assert!(answer.doubts.contains(&doubt), "{:#?}", answer.doubts);
    let json: Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(json["dropped"][0]["policy"], "malloc=thp");
}
