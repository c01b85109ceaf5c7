//! Draws services second by second.

use std::collections::BTreeMap;

use crate::sample::{self, small_pages, thp};
use expect_test::expect;
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::timeline::document;
use hugewise_experiment::run::trial::Trial;
use hugewise_experiment::run::trial::timeline::{
    Held, Requests, Second, Slowest, Timeline, Unrelated,
};
use hugewise_text::{Style, to_text};

/// Two policies; under the second the service stalls in its third second.
fn record(slowest: impl Fn(&Trial) -> Slowest) -> Record {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), small_pages()),
    ];
    let mut record = sample::record(&arms, 6);
    for trial in &mut record.trials {
        trial.timeline = Some(Timeline {
            seconds: (1..=4).map(|number| second(trial, number)).collect(),
            long_stalls: BTreeMap::new(),
            slowest: slowest(trial),
        });
    }
    record
}

fn second(trial: &Trial, number: u32) -> Second {
    let always = trial.policy != "as-is";
    let stalls = always && number == 3;
    let tail = if stalls { 0.045 } else { 0.0021 };
    let compacted = if stalls { 0.0301 } else { 0.0 };
    Second {
        to_seconds: f64::from(number),
        minor_faults: Some(if always { 230 } else { 61_000 } + u64::from(trial.round)),
        resident_bytes: Some(1 << 30),
        // One look was too dear.
        huge_bytes: (number != 2).then_some(if always { 900 << 20 } else { 0 }),
        stalls: BTreeMap::from([
            ("direct_compaction_seconds".to_owned(), compacted),
            // All of it is in faults, so it is not added to them.
            ("page_fault_seconds".to_owned(), compacted + 0.2),
        ]),
        requests: Some(Requests {
            count: 12_000,
            p50_seconds: 0.000_12,
            p99_seconds: 0.0009,
            max_seconds: tail + f64::from(trial.round) * 0.0001,
            over_seconds: None,
        }),
    }
}

fn held(slow_in_stall: u64, turned: &[(u64, u64)]) -> Held {
    Held {
        requests: 48_000,
        in_stall: 700,
        slow: 48,
        slow_from_seconds: 0.0019,
        slow_in_stall,
        slow_by_cause: BTreeMap::from([("direct_compaction_seconds".to_owned(), slow_in_stall)]),
        turned: turned.to_vec(),
    }
}

#[test]
fn seconds_are_drawn_by_policy() {
    let record = record(|trial| match &*trial.policy {
        "as-is" => Slowest::CannotTell(Unrelated::ClockSet),
        _ => Slowest::Held(held(40, &[(1, 1000)])),
    });
    let text = to_text(&document(&record), &Style::default());
    expect![[r#"
        as-is: per second of load, medians of 6 trials
           requests/s     p50     p99      max  faults/s  resident  huge  stalled
        1      12,000  120 µs  900 µs  2.35 ms    61,002     1 GiB     0        0
        2      12,000  120 µs  900 µs  2.35 ms    61,002     1 GiB     –        0
        3      12,000  120 µs  900 µs  2.35 ms    61,002     1 GiB     0        0
        4      12,000  120 µs  900 µs  2.35 ms    61,002     1 GiB     0        0
        Slow requests in stalls: unknown: the clock was set while the trial ran.

        thp=always: per second of load, medians of 6 trials
           requests/s     p50     p99      max  faults/s  resident     huge  stalled
        1      12,000  120 µs  900 µs  2.35 ms       232     1 GiB  900 MiB        0
        2      12,000  120 µs  900 µs  2.35 ms       232     1 GiB        –        0
        3      12,000  120 µs  900 µs  45.2 ms       232     1 GiB  900 MiB  30.1 ms
        4      12,000  120 µs  900 µs  2.35 ms       232     1 GiB  900 MiB        0

        stalled: time in direct compaction, reclaim and zeroing per second, summed over
          the service's threads.
        huge: at the last sample of the second; – where sampling would have cost too
          much.
    "#]]
    .assert_eq(&text);
    assert!(text.lines().all(|line| line.chars().count() <= 80));
}
