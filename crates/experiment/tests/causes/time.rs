//! The parts of the time, and stalls.

use hugewise_base::missing::Missing;
use hugewise_experiment::run::cause::facts::prices;
use hugewise_experiment::run::cause::{Breakdown, CauseOutcome, Kind, Part, Seconds, Way, causes};
use hugewise_experiment::run::compare::{self, Options};
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::{self, Record};
use hugewise_experiment::run::trial::Reading;

use super::judged::{always, figures, judge, near, near_of, two_arms};
use crate::sample::{self, Figures, huge_pages, small_pages, table, thp, with};

const STALLS: [(&str, f64); 3] = [
    ("direct_compaction_seconds", 0.002),
    ("direct_reclaim_seconds", 0.0),
    ("zeroing_seconds", 0.0),
];

fn parts(record: &Record) -> Breakdown {
    *figures!(judge(record), Breakdown, Shown)
}

/// Checks that the parts of a change add up to the whole.
fn whole(parts: &Breakdown) -> Seconds {
    let it = parts.seconds.expect("times");
    let causes = [
        it.compaction,
        it.reclaim,
        it.cgroup_reclaim,
        it.zeroing,
        it.splits,
    ];
    let timed: f64 = causes.iter().chain([&it.other_faults]).flatten().sum();
    near(
        it.user + timed + it.other_kernel + it.off_cpu,
        it.wall,
        1e-9,
    );
    it
}

#[test]
fn what_comes_once_is_told_from_what_lasts() {
    let lasting = |figures: Figures| parts(&always(figures)).lasting.expect("a program");
    // Zeroing costs more than the faults did, and user mode is faster.
    let costly = lasting(with(&huge_pages(), &[("system_seconds", 0.88)]));
    assert_eq!(
        (costly.once, costly.lasting),
        (Some(Way::More), Some(Way::Less))
    );
    near_of(costly.break_even_seconds, 2.88, 0.005);
    near(costly.once_seconds, 0.300, 0.001);
    near(costly.wall_seconds, 4.21, 0.005);
    near(costly.lasting_ratio, 1.0 - 0.121, 0.001);
    let both = lasting(huge_pages());
    assert_eq!(
        (both.once, both.lasting),
        (Some(Way::Less), Some(Way::Less))
    );
    assert_eq!(both.break_even_seconds, None);
    let once = lasting(with(&huge_pages(), &[("user_seconds", 3.61)]));
    assert_eq!(
        (once.once, once.lasting),
        (Some(Way::Less), Some(Way::Same))
    );
    let same = [("user_seconds", 3.61), ("system_seconds", 0.58)];
    let neither = lasting(with(&huge_pages(), &same));
    assert_eq!(neither.outcome, CauseOutcome::NotShown);
}

/// The memory is faulted in after half a second of 4.2 s.
#[test]
fn the_time_until_memory_is_in_is_told_from_the_time_after() {
    let arrival = |seconds, system, faults| {
        [
            ("arrival_seconds", seconds),
            ("arrival_user_seconds", 0.2),
            ("arrival_system_seconds", system),
            ("arrival_faults_total", faults),
        ]
    };
    let record = two_arms(&arrival(0.9, 0.55, 50_000.0), &arrival(0.5, 0.17, 1_300.0));
    let found = parts(&record)
        .lasting
        .and_then(|it| it.arrival)
        .expect("a second after");
    near(found.seconds.arm, 0.500, 0.002);
    near(found.seconds.baseline, 0.899, 0.002);
    near(found.system_until, -0.380, 0.001);
    near(found.system_after, -0.00999, 0.0001);
    near(found.user_until, -581e-6, 2e-6);
    near(found.user_after, -0.439, 0.001);
    assert_eq!(
        (
            found.faults_per_second.arm,
            found.faults_per_second.baseline
        ),
        (14.0, 362.0)
    );
    let short = two_arms(&arrival(3.9, 0.55, 50_000.0), &arrival(3.0, 0.17, 1_300.0));
    let lasting = parts(&short).lasting.expect("a program");
    assert_eq!(lasting.arrival, None);
}

#[test]
fn where_the_time_went() {
    let stalled = [
        ("direct_compaction_seconds", 0.022),
        ("direct_reclaim_seconds", 0.0),
        ("zeroing_seconds", 0.08),
    ];
    let arms = [
        (Policy::as_is(), with(&small_pages(), &STALLS)),
        (
            thp("thp=always", Thp::Always),
            with(&huge_pages(), &stalled),
        ),
    ];
    let mut record = sample::record(&arms, 12);
    let found = parts(&record);
    assert_eq!(found.dominant, Some(Part::UserMode));
    let seconds = whole(&found);
    near(seconds.wall, -0.826, 0.001);
    near(seconds.user, -0.439, 0.001);
    near_of(seconds.compaction, 0.020, 0.0001);
    near_of(seconds.zeroing, 0.0801, 0.0001);
    near(seconds.other_kernel, -0.490, 0.001);
    near(seconds.off_cpu, 0.00316, 0.0001);
    assert_eq!((seconds.untimed_causes(), seconds.other_faults), (2, None));

    let mut trials = record.trials.iter_mut();
    let torn = trials.find(|trial| trial.policy == "thp=always").unwrap();
    let unasked = Reading::missing(Missing::NotAsked);
    torn.readings.insert("zeroing_seconds".to_owned(), unasked);
    assert_eq!(whole(&parts(&record)).untimed_causes(), 3);
    let untimed = whole(&parts(&always(huge_pages())));
    assert!(!untimed.is_timed());
}

/// The largest part must be decided by its own row, unless causes were timed.
#[test]
fn the_largest_part_is_as_sure_as_its_row() {
    let record = always(huge_pages());
    let mut table = table(&record, 0.005);
    let row = table
        .comparisons
        .iter_mut()
        .find(|row| row.metric == "user_seconds");
    row.unwrap().change = compare::Change::CannotTell;
    let found = figures!(causes(&record, &table), Breakdown, Shown);
    assert_eq!(
        found.dominant,
        Some(Part::PageFaults),
        "user time is larger, and open"
    );
    let waiting = with(&huge_pages(), &[("wall_seconds", 9.0)]);
    let found = *figures!(judge(&always(waiting)), Breakdown, Shown);
    assert_eq!(
        found.dominant, None,
        "nothing was timed, and waiting has no row"
    );
}

#[test]
fn page_faults_are_a_part_of_their_own_if_they_were_timed() {
    let before = [("page_fault_seconds", 0.5), ("zeroing_seconds", 0.0)];
    let after = [("page_fault_seconds", 0.12), ("zeroing_seconds", 0.08)];
    let seconds = whole(&parts(&two_arms(&before, &after)));
    near_of(seconds.zeroing, 0.0799, 0.0002);
    near_of(seconds.other_faults, -0.459, 0.001);
    near(seconds.other_kernel, -0.0104, 0.0001);
    assert_eq!(seconds.untimed_causes(), 4);
    // Zeroing took longer than all faults: so it was not in faults, and this part does not exist.
    let elsewhere = [("page_fault_seconds", 0.12), ("zeroing_seconds", 0.2)];
    let seconds = whole(&parts(&two_arms(&before, &elsewhere)));
    assert_eq!(seconds.other_faults, None);
    let only = |seconds| [("page_fault_seconds", seconds)];
    let seconds = whole(&parts(&two_arms(&only(0.5), &only(0.1))));
    near_of(seconds.other_faults, -0.399, 0.001);
}

#[test]
fn what_is_told_beside_the_parts_is_not_added_to_them() {
    let timed = |faults, copies, waits| {
        [
            ("page_fault_seconds", faults),
            ("copy_on_write_seconds", copies),
            ("direct_reclaim_seconds", 0.0),
            ("mmap_lock_wait_seconds", waits),
        ]
    };
    let seconds = whole(&parts(&two_arms(
        &timed(0.5, 0.2, 0.0),
        &timed(0.12, 0.01, 0.001),
    )));
    near_of(seconds.copy_on_write, -0.190, 0.001);
    near_of(seconds.lock_waits, 0.001, 0.00001);
    near_of(seconds.other_faults, -0.379, 0.001);
    // Many of the faults may have been waiting, and waiting is not kernel time.
    let seconds = whole(&parts(&two_arms(
        &timed(0.5, 0.0, 0.0),
        &timed(0.5, 0.0, 0.3),
    )));
    assert_eq!(
        (seconds.other_faults, seconds.copy_on_write),
        (None, Some(0.0))
    );
    near_of(seconds.lock_waits, 0.3, 0.002);
}

#[test]
fn stalls_explain_a_loss() {
    let slow = |seconds| {
        [
            ("wall_seconds", 5.1),
            ("direct_compaction_seconds", seconds),
            ("direct_reclaim_seconds", 0.0),
        ]
    };
    let found = parts(&two_arms(&STALLS, &slow(0.7)))
        .stalls
        .expect("a loss");
    assert_eq!(found.outcome, CauseOutcome::Shown);
    near(found.lost_seconds, 0.902, 0.001);
    near_of(found.compaction_seconds, 0.698, 0.001);
    assert!(found.share_of_loss > 0.5, "{found:?}");
    let few = parts(&two_arms(&STALLS, &slow(0.003)))
        .stalls
        .expect("a loss");
    assert_eq!(few.outcome, CauseOutcome::NotShown);
    // Nothing was lost, or nothing was timed.
    assert_eq!(parts(&two_arms(&STALLS, &STALLS)).stalls, None);
    let slow = with(&huge_pages(), &[("wall_seconds", 5.1)]);
    assert_eq!(parts(&always(slow)).stalls, None);
}

#[test]
fn stalls_that_are_most_of_a_loss_are_its_cause() {
    let stalled = [
        ("wall_seconds", 5.3),
        ("system_seconds", 1.5),
        ("direct_compaction_seconds", 0.9),
    ];
    let found = parts(&two_arms(&STALLS, &stalled));
    assert_eq!(found.dominant, Some(Part::CompactionAndReclaim));
}

#[test]
fn a_win_that_is_paid_for_with_stalls_says_so() {
    let stalled = [("direct_compaction_seconds", 0.2)];
    let record = two_arms(&STALLS[..1], &stalled);
    let table = table(&record, 0.005);
    let mut rows = table.comparisons.iter();
    let stalls = rows.find(|row| row.metric == "direct_compaction_seconds");
    assert_eq!(stalls.unwrap().change, compare::Change::Higher);
    let prices = prices(&record, &table, "thp=always");
    assert!(
        prices.is_empty(),
        "their time is inside the judged time: {prices:?}"
    );
}

/// All parts of one run belong to one whole, and every change in seconds has the same rounds.
#[test]
fn seconds_have_one_basis() {
    let mut seen = 0;
    for record in recorded_runs() {
        let table = compare::table(&record, &Options::default()).expect("a sound plan");
        for cause in causes(&record, &table) {
            let Kind::Breakdown(parts) = cause.kind else {
                continue;
            };
            let Some(seconds) = parts.seconds else {
                continue;
            };
            whole(&parts);
            let kernel = [
                parts.fewer_faults.map(|it| -it.saved_seconds),
                parts.lasting.map(|it| it.once_seconds),
                parts.zeroing.map(|it| it.system_seconds.change()),
            ];
            for change in kernel.into_iter().flatten() {
                near(change, seconds.system, 1e-12);
                seen += 1;
            }
        }
    }
    assert!(seen > 5, "{seen}");
}

fn recorded_runs() -> Vec<Record> {
    let files: [&[u8]; 8] = [
        include_bytes!("../../../../fixtures/runs/carry-over.jsonl"),
        include_bytes!("../../../../fixtures/runs/clear-win.jsonl"),
        include_bytes!("../../../../fixtures/runs/failed-trials.jsonl"),
        include_bytes!("../../../../fixtures/runs/five-policies.jsonl"),
        include_bytes!("../../../../fixtures/runs/noise.jsonl"),
        include_bytes!("../../../../fixtures/runs/ordinary-user.jsonl"),
        include_bytes!("../../../../fixtures/runs/two-policies.jsonl"),
        include_bytes!("../../../../fixtures/runs/win-with-a-loss.jsonl"),
    ];
    files
        .map(|bytes| record::parse(bytes).expect("a record"))
        .into()
}
