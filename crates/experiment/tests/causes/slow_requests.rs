//! Slow requests of a service against stalls of the kernel.

use std::collections::BTreeMap;

use hugewise_base::missing::Missing;
use hugewise_experiment::run::cause::{Cause, CauseId, CauseOutcome, Kind, SlowRequestsStalled};
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::trial::Trial;
use hugewise_experiment::run::trial::timeline::{Held, Slowest, Timeline, Unrelated};

use super::judged::{is_silent, judge, near};
use crate::sample::{self, small_pages, thp};

/// Two policies with six trials each.
fn record(slowest: impl Fn(&Trial) -> Slowest) -> Record {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), small_pages()),
    ];
    let mut record = sample::record(&arms, 6);
    for trial in &mut record.trials {
        trial.timeline = Some(Timeline {
            seconds: Vec::new(),
            long_stalls: BTreeMap::new(),
            slowest: slowest(trial),
        });
    }
    record
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

fn said(record: &Record, id: CauseId) -> Vec<Cause> {
    let mut all = judge(record);
    all.retain(|cause| cause.id == id);
    all
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
    let [shown, not_shown] = &said(&record, CauseId::SlowRequestsStalled)[..] else {
        panic!("one of each policy");
    };
    assert_eq!(
        (shown.arm.as_deref(), shown.outcome),
        (Some("thp=always"), CauseOutcome::Shown)
    );
    assert_eq!(
        (not_shown.arm.as_deref(), not_shown.outcome),
        (Some("as-is"), CauseOutcome::NotShown)
    );
    let Kind::SlowRequestsStalled(SlowRequestsStalled::Held {
        slow,
        in_stall,
        by_chance,
        chance_range,
        by_cause,
        ..
    }) = &shown.kind
    else {
        panic!("{shown:?}");
    };
    assert_eq!(
        (*slow, *in_stall, by_cause["direct_compaction_seconds"]),
        (288, 240, 240)
    );
    near(*by_chance / 288.0, 0.057, 0.001);
    assert_eq!(*chance_range, [0, 80]);
}

#[test]
fn one_trial_of_many_steps_is_enough_and_the_policies_share_their_error() {
    let said = |record: &Record| said(record, CauseId::SlowRequestsStalled);
    let outcomes = |record: &Record| said(record).iter().map(|it| it.outcome).collect::<Vec<_>>();
    // A single p-value of 4 % is no longer below 5 % with two policies.
    let mut record = record(|_| Slowest::Held(held(40, &[(0, 997), (40, 3)])));
    assert_eq!(outcomes(&record), [CauseOutcome::Shown; 2]);
    record.trials.truncate(3);
    for trial in &mut record.trials {
        let timeline = trial.timeline.as_mut().expect("there is one");
        timeline.slowest = Slowest::Held(held(40, &[(0, 960), (40, 40)]));
    }
    assert_eq!(outcomes(&record), [CauseOutcome::NotShown; 2]);
}

#[test]
fn it_cannot_be_told_only_if_somebody_might_expect_it() {
    let missing = Missing::not_permitted("CAP_BPF and CAP_PERFMON");
    let unrelated = Unrelated::NotTraced { missing };
    let untraced = record(|_| Slowest::CannotTell(unrelated.clone()));
    let [only] = &said(&untraced, CauseId::SlowRequestsStalled)[..] else {
        panic!("one for the whole");
    };
    assert_eq!(
        (only.arm.as_deref(), only.outcome),
        (None, CauseOutcome::CannotTell)
    );
    let kind = Kind::SlowRequestsStalled(SlowRequestsStalled::Unrelated { unrelated });
    assert_eq!(only.kind, kind);
    let source = "wrk".to_owned();
    for why in [
        Unrelated::NotAsked,
        Unrelated::Unread,
        Unrelated::NoTimes { source },
    ] {
        let record = record(|_| Slowest::CannotTell(why.clone()));
        assert!(is_silent(&record, CauseId::SlowRequestsStalled));
    }
}
