//! Every trial of one metric, as a drawing.

use expect_test::{Expect, expect};
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::report::trials;
use hugewise_experiment::run::trial::{Mark, Outcome, Reading};
use hugewise_text::{Style, to_text};

use crate::sample::{self, huge_pages, small_pages, thp};

/// Two policies; as-is has two modes and slows down, one trial of the other failed, and one was disturbed.
fn record() -> Record {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let mut record = sample::record(&arms, 10);
    for trial in &mut record.trials {
        let slow = if trial.round % 3 == 0 { 0.4 } else { 0.0 };
        let seconds = match trial.policy.as_str() {
            "as-is" => 2.0 + slow + f64::from(trial.round) * 0.02,
            _ => 1.5,
        };
        let reading = Reading::of(seconds);
        trial.readings.insert("wall_seconds".to_owned(), reading);
        if trial.policy == "thp=always" && trial.round == 4 {
            trial.outcome = Outcome::Exited { code: 1 };
        }
        if trial.policy == "thp=always" && trial.round == 5 {
            trial.marks.push(Mark::Swapped { pages: 3 });
        }
    }
    record
}

fn drawn(record: &Record, metric: &str, width: usize) -> String {
    let style = Style {
        width,
        ..Style::default()
    };
    to_text(&trials(record, metric, width), &style)
}

fn check(record: &Record, metric: &str, width: usize, expected: &Expect) {
    let text = drawn(record, metric, width);
    expected.assert_eq(&text);
    assert!(text.lines().all(|line| line.chars().count() <= width));
}

#[test]
fn modes_drift_failures_and_marks_show() {
    check(
        &record(),
        "wall_seconds",
        100,
        &expect![[r#"
            wall time per trial
                               min    25 %  median    75 %     max  trials  failed  marked
            as-is           2.02 s  2.08 s  2.15 s  2.46 s  2.58 s      10       0       0
            as-is, control  2.02 s  2.08 s  2.15 s  2.46 s  2.58 s      10       0       0
            thp=always      1.50 s  1.50 s  1.50 s  1.50 s  1.50 s      10       1       1

            Distribution from 1.50 s (left) to 2.58 s (right)
            as-is                                         ▁ ▁ ▁▁ ▁ ▁             ▁  ▁   ▁  ▁
            as-is, control                                ▁ ▁ ▁▁ ▁ ▁             ▁  ▁   ▁  ▁
            thp=always      █

            Round by round, a higher bar is a larger value
            as-is           ▇▄▅█▅▅█▅▅█
            as-is, control  ▇▄▅█▅▅█▅▅█
            thp=always      ▁▁▁▁×▁▁▁▁▁
            × failed trial
        "#]],
    );
}

#[test]
fn what_is_too_wide_leaves_out_the_quartiles() {
    check(
        &record(),
        "wall_seconds",
        64,
        &expect![[r#"
            wall time per trial
                               min  median     max  trials  failed  marked
            as-is           2.02 s  2.15 s  2.58 s      10       0       0
            as-is, control  2.02 s  2.15 s  2.58 s      10       0       0
            thp=always      1.50 s  1.50 s  1.50 s      10       1       1

            Distribution from 1.50 s (left) to 2.58 s (right)
            as-is                                  ▁▁▁▁ ▁▁         ▁  ▁  ▁ ▁
            as-is, control                         ▁▁▁▁ ▁▁         ▁  ▁  ▁ ▁
            thp=always      █

            Round by round, a higher bar is a larger value
            as-is           ▇▄▅█▅▅█▅▅█
            as-is, control  ▇▄▅█▅▅█▅▅█
            thp=always      ▁▁▁▁×▁▁▁▁▁
            × failed trial
        "#]],
    );
}

#[test]
fn values_that_are_alike_are_not_drawn() {
    let mut record = record();
    for trial in &mut record.trials {
        let reading = Reading::of(4096.0);
        trial.readings.insert("peak_rss_bytes".to_owned(), reading);
    }
    check(
        &record,
        "peak_rss_bytes",
        80,
        &expect![[r#"
            peak memory per trial
                              min   25 %  median   75 %    max  trials  failed  marked
            as-is           4 KiB  4 KiB   4 KiB  4 KiB  4 KiB      10       0       0
            as-is, control  4 KiB  4 KiB   4 KiB  4 KiB  4 KiB      10       0       0
            thp=always      4 KiB  4 KiB   4 KiB  4 KiB  4 KiB      10       1       1

            All values are equal.
        "#]],
    );
}

#[test]
fn more_rounds_than_columns_share_them() {
    let mut record = record();
    let more: Vec<_> = (1..20)
        .flat_map(|times| {
            record.trials.iter().cloned().map(move |mut trial| {
                trial.round += times * 10;
                trial
            })
        })
        .collect();
    record.trials.extend(more);
    let text = drawn(&record, "wall_seconds", 70);
    assert!(
        text.lines().all(|line| line.chars().count() <= 70),
        "{text}"
    );
    assert!(text.contains(" 200 "), "{text}");
    let rounds = text.lines().rfind(|line| line.starts_with("thp=always"));
    let strip = rounds.unwrap().trim_start_matches("thp=always").trim();
    assert_eq!((strip.chars().count(), strip.contains('×')), (50, true));
}

#[test]
fn what_no_trial_read_is_said_so() {
    let text = drawn(&record(), "cycles_total", 80);
    assert_eq!(text, "No trial has a value of cycles.\n");
}

#[test]
fn names_from_outside_obey_nobody() {
    let mut record = record();
    let name = "a\u{1b}[2J\u{202e}b".to_owned();
    for trial in &mut record.trials {
        if trial.policy == "thp=always" {
            trial.policy.clone_from(&name);
        }
    }
    record.header.plan.policies[1].name = name;
    let text = drawn(&record, "wall_seconds", 80);
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
}
