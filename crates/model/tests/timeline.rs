//! Services second by second: what is drawn of them, and what is said of their slow requests.

mod sample;

use std::collections::BTreeMap;

use expect_test::expect;
use hugewise_model::base::missing::Missing;
use hugewise_model::run::findings;
use hugewise_model::run::findings::{Finding, Outcome};
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::record::Record;
use hugewise_model::run::timeline::document;
use hugewise_model::run::trial::Trial;
use hugewise_model::run::trial::timeline::{Held, Requests, Second, Slowest, Timeline, Unrelated};
use hugewise_model::text::{Style, to_text};
use sample::{small_pages, table, thp};

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
            // All of it is in faults, which therefore are not added to it.
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

fn said(record: &Record, id: &str) -> Vec<Finding> {
    let all = findings::judge(record, &table(record, 0.005)).into_iter();
    all.filter(|finding| finding.id == id).collect()
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
        Slow requests in stalls: cannot tell: the clock was set while the trial ran.

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

#[test]
fn more_than_chance_is_shown_and_chance_is_not() {
    let turned = [(0, 700), (3, 250), (40, 50)];
    let record = record(|trial| {
        Slowest::Held(match &*trial.policy {
            "as-is" => held(3, &turned),
            _ => held(40, &turned),
        })
    });
    let findings = said(&record, "slow-requests-stalled");
    let texts: Vec<String> = findings
        .iter()
        .map(|it| format!("{:?} {}\n", it.outcome, it.text))
        .collect();
    expect![[r#"
        Shown thp=always: slow requests coincide with kernel stalls. Of the slowest 0.1 % of requests (288, 1.90 ms or slower) 83.3 % overlapped with a stall of 100 µs or more (240 in direct compaction); by chance 5.7 % would (0.0 to 27.8 %)
        NotShown as-is: slow requests do not coincide with kernel stalls. Of the slowest 0.1 % of requests (288, 1.90 ms or slower) 6.2 % overlapped with a stall of 100 µs or more; by chance 5.7 % would (0.0 to 27.8 %)
    "#]]
    .assert_eq(&texts.concat());
}

#[test]
fn one_trial_of_many_steps_is_enough_and_the_policies_share_their_error() {
    // 4 % by itself is no longer below 5 % where two policies are looked at.
    let record = record(|_| Slowest::Held(held(40, &[(0, 997), (40, 3)])));
    assert!(
        said(&record, "slow-requests-stalled")
            .iter()
            .all(|it| it.outcome == Outcome::Shown)
    );
    let mut one = record;
    one.trials.truncate(3);
    let turned = [(0, 960), (40, 40)];
    for trial in &mut one.trials {
        let timeline = trial.timeline.as_mut().expect("there is one");
        timeline.slowest = Slowest::Held(held(40, &turned));
    }
    let roles = one
        .trials
        .iter()
        .map(|trial| (trial.role, trial.policy.clone()));
    let roles: Vec<_> = roles.collect();
    assert_eq!(roles.len(), 3, "{roles:?}");
    let findings = said(&one, "slow-requests-stalled");
    assert_eq!(findings.len(), 2, "{findings:#?}");
    assert!(
        findings.iter().all(|it| it.outcome == Outcome::NotShown),
        "{findings:#?}"
    );
}

#[test]
fn it_cannot_be_told_only_where_somebody_might_expect_it() {
    let missing = Missing::not_permitted("CAP_BPF and CAP_PERFMON");
    let untraced = record(|_| {
        let missing = missing.clone();
        Slowest::CannotTell(Unrelated::NotTraced { missing })
    });
    let findings = said(&untraced, "slow-requests-stalled");
    let [only] = &findings[..] else {
        panic!("{findings:#?}");
    };
    assert_eq!(only.outcome, Outcome::CannotTell);
    assert_eq!(
        only.text,
        "It is unknown whether slow requests were stalled: no stall was timed: not permitted; needs \
         CAP_BPF and CAP_PERFMON"
    );
    let source = "wrk".to_owned();
    for why in [
        Unrelated::NotAsked,
        Unrelated::Unread,
        Unrelated::NoTimes { source },
    ] {
        let record = record(|_| Slowest::CannotTell(why.clone()));
        assert_eq!(said(&record, "slow-requests-stalled"), []);
    }
}
