//! Cold memory in the host: kernel time that differs from trial to trial, and the price of a cold start after warmed
//! trials.

use hugewise_base::host::Balloon;
use hugewise_experiment::run::cause::facts::{Rested, rested};
use hugewise_experiment::run::cause::{CauseId, CauseOutcome, HostColdMemory};
use hugewise_experiment::run::plan::HostMemory;
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::trial::{FirstTouch, Reading, Role};

use super::judged::{always, figures, is_silent, judge, near, near_of};
use crate::sample::{Figures, huge_pages, table, with};

const QUIET: [(&str, f64); 2] = [("compact_stall_total", 0.0), ("allocstall_total", 0.0)];

/// Every third trial under the policy gets memory that the host has not backed.
fn with_cold_trials(mut record: Record, slow_seconds: f64) -> Record {
    let trials = record
        .trials
        .iter_mut()
        .filter(|trial| trial.policy == "thp=always");
    for trial in trials.filter(|trial| trial.round % 3 == 0) {
        let slow = Reading::of(slow_seconds);
        trial.readings.insert("system_seconds".to_owned(), slow);
    }
    record
}

fn quick() -> Figures {
    with(&with(&huge_pages(), &QUIET), &[("system_seconds", 0.1)])
}

#[test]
fn host_cold_memory_shows_in_the_slow_quarter() {
    let record = with_cold_trials(always(quick()), 1.6);
    let found = figures!(judge(&record), HostColdMemory, Shown);
    let spread = found.uneven.expect("slow trials");
    near(spread.fast_seconds, 0.0995, 0.0001);
    near(spread.slow_seconds, 1.6, 1e-9);
    near_of(spread.seconds_per_huge_page, 3.72e-3, 0.01e-3);
    near(found.huge_bytes, 806.0 * 1_048_576.0, 1.0);
    assert_eq!(
        (found.hypervisor.as_deref(), found.is_warmed),
        (Some("KVM"), false)
    );

    let id = CauseId::HostColdMemory;
    assert!(is_silent(&always(quick()), id), "no slow quarter");
    let stalled = with(&quick(), &[("compact_stall_total", 9.0)]);
    let record = with_cold_trials(always(stalled), 1.6);
    let found = figures!(judge(&record), HostColdMemory, CannotTell);
    assert!(
        found
            .uneven
            .is_some_and(|it| it.outcome == CauseOutcome::CannotTell)
    );

    let mut bare_metal = with_cold_trials(always(quick()), 1.6);
    bare_metal.header.host.hypervisor = None;
    assert!(is_silent(&bare_metal, id));
}

/// A Python dict of an eighth of a second: a sample caught few of its huge pages.
#[test]
fn huge_faults_count_where_samples_missed_huge_pages() {
    let sampled = [
        ("system_seconds", 0.09),
        ("peak_rss_bytes", 171.0 * 1_048_576.0),
        ("huge_anon_peak_bytes", 63.0 * 1_048_576.0),
        ("thp_fault_alloc_total", 73.0),
    ];
    let record = with_cold_trials(always(with(&quick(), &sampled)), 0.5);
    let found = figures!(judge(&record), HostColdMemory, Shown);
    near(found.huge_bytes, 146.0 * 1_048_576.0, 1.0);
    let each = found.uneven.and_then(|it| it.seconds_per_huge_page);
    near_of(each, 5.62e-3, 0.01e-3);
}

/// A warmed run on a host that takes memory back: a price of touches, and runs after idle of `thp=always` and of the
/// baseline.
fn warmed(rested_seconds: [&[f64]; 2]) -> Record {
    let huge = with(&huge_pages(), &[("thp_fault_alloc_total", 400.0)]);
    let mut record = always(huge);
    record.header.plan.host_memory = HostMemory::Warm;
    record.header.host.balloon = Some(Balloon {
        driver: "virtio_balloon".to_owned(),
        reported_block_bytes: Some(2 << 20),
    });
    for trial in &mut record.trials {
        let touch = FirstTouch::of(4 << 20, 4 << 20, &[0.005, 0.0002], &[0.0002]);
        trial.first_touch = Some(touch);
    }
    for (policy, rested) in ["thp=always", "as-is"].into_iter().zip(rested_seconds) {
        let model = record.trials.iter().find(|it| it.policy == policy);
        let model = model.expect("a trial of the policy").clone();
        for (at, seconds) in rested.iter().enumerate() {
            let mut trial = model.clone();
            // Three in the first block, then two.
            trial.round = (at as u32).saturating_sub(1) / 2;
            trial.role = Role::Cold;
            let wall = Reading::of(*seconds);
            trial.readings.insert("wall_seconds".to_owned(), wall);
            record.push(trial);
        }
    }
    record
}

const USUAL: &[f64] = &[4.4, 4.6, 4.9, 4.5, 4.7];
const DEAR: [&[f64]; 2] = [&[5.1, 5.4, 5.2, 5.3, 5.0], USUAL];
const CHEAP: [&[f64]; 2] = [&[4.1, 4.2, 4.2, 4.0, 4.1], USUAL];
const OPEN: [&[f64]; 2] = [&[4.1, 4.2, 4.7, 4.6, 4.8], USUAL];

fn after_idle(record: &Record) -> Rested {
    let found = figures!(judge(record), HostColdMemory, Shown);
    let alone = rested(record, "as-is", "thp=always").expect("warmed");
    assert_eq!(found.rested, Some(alone), "a cause and a fact are one");
    alone
}

#[test]
fn runs_after_idle_are_measured_as_shares_of_the_baseline() {
    let dear = after_idle(&warmed(DEAR));
    let Rested::Measured {
        estimate,
        low,
        high,
        runs,
    } = dear
    else {
        panic!("{dear:?}");
    };
    near(estimate, 0.128, 0.005);
    near(low, 0.017, 0.005);
    near(high, 0.255, 0.005);
    assert_eq!(runs, 5);
    assert!(dear.is_longer() && dear.is_for_back_to_back_runs());
    let cheap = after_idle(&warmed(CHEAP));
    assert!(cheap.is_shorter() && !cheap.is_for_back_to_back_runs());
    let open = after_idle(&warmed(OPEN));
    assert!(!open.is_longer() && !open.is_shorter() && !open.is_for_back_to_back_runs());
    let few = after_idle(&warmed([&DEAR[0][..3], &USUAL[..3]]));
    assert_eq!(few, Rested::TooFew { runs: 3 });
}

/// The pages touched before a start were the most recently freed. They were warm in every trial of a Python dict whose
/// runs took twice as long.
#[test]
fn runs_after_idle_tell_without_a_price_of_a_touch() {
    let mut record = warmed(DEAR);
    for trial in record.trials.iter_mut().chain(&mut record.cold) {
        trial.first_touch = Some(FirstTouch::of(4 << 20, 4 << 20, &[0.0002], &[0.0002]));
    }
    let found = figures!(judge(&record), HostColdMemory, Shown);
    assert!(found.rested.is_some_and(|it| it.is_longer()));
    assert_eq!(found.cold_touch_seconds, None);
}

#[test]
fn warmed_trials_leave_out_the_price_of_a_cold_start() {
    let record = warmed([&[], &[]]);
    let found = figures!(judge(&record), HostColdMemory, Shown);
    let HostColdMemory {
        rested:
            Some(Rested::Unmeasured {
                expected_seconds,
                saved_seconds,
            }),
        is_warmed: true,
        ..
    } = found
    else {
        panic!("{found:?}");
    };
    near(expected_seconds, 1.93, 0.005);
    near(saved_seconds, 0.826, 0.001);
    assert!(
        after_idle(&record).is_for_back_to_back_runs(),
        "more is lost than saved"
    );
    near_of(found.cold_touch_seconds, 5e-3, 1e-6);
    near_of(found.warm_touch_seconds, 2e-4, 1e-6);
    assert_eq!(
        table(&record, 0.005),
        table(&warmed(DEAR), 0.005),
        "no comparison uses cold trials"
    );
    let mut as_is = record;
    as_is.header.plan.host_memory = HostMemory::AsIs;
    assert!(is_silent(&as_is, CauseId::HostColdMemory));
    assert_eq!(rested(&as_is, "as-is", "thp=always"), None);
}
