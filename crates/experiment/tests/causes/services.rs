//! Causes for services, and causes visible only in long runs.

use std::time::Duration;

use hugewise_base::missing::Missing;
use hugewise_experiment::run::cause::facts::{Limit, load_limit};
use hugewise_experiment::run::cause::{CauseId, CauseOutcome, GapsDoubt};
use hugewise_experiment::run::plan::service::{
    CommandLine, Interleave, LoadPolicy, Service, StopSignal,
};
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::Record;

use super::judged::{always, figures, is_silent, judge, near, near_of, two_arms, unread};
use crate::sample::{self, huge_pages, small_pages, thp, with};

/// A service under load, whose figures are these under `as-is` and under `thp=always`.
fn served(load_cpus: Option<Vec<u32>>, here: &[(&'static str, f64)]) -> Record {
    let figures = [
        ("load_use_ratio", 0.4),
        ("service_use_ratio", 0.9),
        ("service_ready_seconds", 1.5),
    ];
    let base = with(&small_pages(), &figures);
    let arms = [
        (Policy::as_is(), base.clone()),
        (thp("thp=always", Thp::Always), with(&base, here)),
    ];
    let mut record = sample::record(&arms, 12);
    record.header.plan.service = Some(Service {
        ready: "tcp:{port}".parse().expect("good"),
        ready_timeout: Duration::from_secs(60),
        warm_up_load: None,
        load: CommandLine::Line("wrk".to_owned()),
        load_policy: LoadPolicy::None,
        stop_signal: StopSignal::default(),
        stop_command: None,
        grace: Duration::from_secs(10),
        service_cpus: None,
        load_cpus,
        interleave: Interleave::No,
    });
    record
}

#[test]
fn a_load_at_its_limit_is_named() {
    let limit = |cpus: Option<Vec<u32>>, load: f64, service: f64| {
        let here = [("load_use_ratio", load), ("service_use_ratio", service)];
        load_limit(&served(cpus, &here))
    };
    let bound = limit(Some(vec![1]), 0.97, 0.5).expect("a limit");
    assert_eq!(
        (bound.arm.as_str(), bound.limit),
        ("thp=always", Limit::Load)
    );
    assert_eq!((bound.bound_cpus, bound.parted), (Some(1), false));
    near(bound.load_cpus, 0.97, 1e-9);
    let shared = limit(None, 0.8, 1.1).expect("a limit");
    assert_eq!((shared.limit, shared.bound_cpus), (Limit::Shared, None));
    assert_eq!(limit(None, 0.99, 0.5), None, "one thread may want no more");
    assert_eq!(limit(Some(vec![1, 2]), 0.5, 1.0), None);
    assert_eq!(load_limit(&served(Some(vec![1, 2]), &[])), None);
    assert_eq!(load_limit(&always(huge_pages())), None, "no service");
}

#[test]
fn faults_that_were_only_taken_earlier_are_named() {
    let early = [
        ("service_ready_seconds", 3.1),
        ("minor_faults_total", 4_000.0),
    ];
    let parts = figures!(judge(&served(None, &early)), Breakdown, Shown);
    let start = parts.start.expect("a start");
    assert_eq!(
        (start.outcome, start.faults.arm),
        (CauseOutcome::Shown, 4_000.0)
    );
    near(start.ready_seconds.arm, 3.1, 0.02);
    near(start.ready_seconds.baseline, 1.5, 0.01);
    assert_eq!(parts.lasting, None, "nothing of a load comes once");
    let saved = [("minor_faults_total", 4_000.0)];
    let parts = figures!(judge(&served(None, &saved)), Breakdown, Shown);
    assert_eq!(
        parts.start.expect("a start").outcome,
        CauseOutcome::NotShown
    );
    let parts = figures!(judge(&always(huge_pages())), Breakdown, Shown);
    assert_eq!(parts.start, None);
}

const MIB: f64 = 1_048_576.0;

#[test]
fn huge_pages_that_a_fork_shares_are_split_by_writes() {
    let forked = |splits: f64, copied: f64| {
        let shared = ("fork_shared_peak_bytes", 200.0 * MIB);
        let there = [shared, ("fork_copied_bytes", 60.0 * MIB)];
        let copied = ("fork_copied_bytes", copied);
        let here = [shared, copied, ("thp_split_pmd_total", splits)];
        judge(&two_arms(&there, &here))
    };
    let found = figures!(forked(96.0, 55.0 * MIB), CopyOnWriteAfterFork, Shown);
    assert_eq!((found.splits.arm, found.splits.baseline), (96.0, 0.0));
    assert_eq!(found.shared_bytes, 200.0 * MIB);
    assert_eq!(found.copied_bytes, Some(55.0 * MIB));
    assert_eq!(found.baseline_copied_bytes, Some(60.0 * MIB));
    figures!(forked(0.0, 55.0 * MIB), CopyOnWriteAfterFork, NotShown);
    let seen_once = [
        ("fork_shared_peak_bytes", 200.0 * MIB),
        ("thp_split_pmd_total", 96.0),
    ];
    let found = figures!(
        judge(&two_arms(&[], &seen_once)),
        CopyOnWriteAfterFork,
        Shown
    );
    assert_eq!(
        (found.copied_bytes, found.baseline_copied_bytes),
        (None, None)
    );
    let id = CauseId::CopyOnWriteAfterFork;
    assert!(is_silent(&always(huge_pages()), id), "no fork");
    let few = [("fork_shared_peak_bytes", 0.3 * MIB)];
    assert!(is_silent(&two_arms(&few, &few), id), "a shell's");
}

#[test]
fn copies_whose_splits_are_unknown_prove_nothing() {
    let forked = [
        ("fork_shared_peak_bytes", 200.0 * MIB),
        ("fork_copied_bytes", 60.0 * MIB),
    ];
    let mut record = two_arms(&forked, &forked);
    let none = Missing::not_supported("thp_split_pmd in /proc/vmstat");
    sample::take_away(&mut record, &["thp_split_pmd_total"], &none);
    let missing = unread!(judge(&record), CopyOnWriteAfterFork);
    assert_eq!(
        (missing.metric.as_str(), missing.reason),
        ("thp_split_pmd_total", none)
    );
}

#[test]
fn memory_that_khugepaged_filled_is_told_from_what_was_used() {
    let filled = |collapsed: f64, peak: f64, faulted: f64| {
        let figures = [
            ("peak_rss_bytes", peak * MIB),
            ("huge_anon_peak_bytes", 600.0 * MIB),
            ("khugepaged_collapsed_total", collapsed),
            ("thp_fault_alloc_total", faulted),
        ];
        let mut record = always(with(&small_pages(), &figures));
        let limits = &mut record.header.host.thp.as_mut().unwrap().khugepaged;
        limits.insert("max_ptes_none".to_owned(), 511);
        record
    };
    let mut record = filled(300.0, 1200.0, 5.0);
    let found = figures!(judge(&record), KhugepagedFilledGaps, Shown);
    assert_eq!((found.collapsed, found.max_ptes_none), (300.0, Some(511)));
    near_of(found.peak_bytes.map(|it| it.change()), 388.0 * MIB, 1.0);
    assert_eq!(
        (found.huge_faults.map(|it| it.arm), found.doubt),
        (Some(5.0), None)
    );
    let doubt = |record: &Record| figures!(judge(record), KhugepagedFilledGaps, CannotTell).doubt;
    assert_eq!(
        doubt(&filled(300.0, 1200.0, 400.0)),
        Some(GapsDoubt::HugeFaults)
    );
    assert_eq!(doubt(&filled(100.0, 1200.0, 5.0)), Some(GapsDoubt::Beyond));
    figures!(
        judge(&filled(300.0, 812.0, 5.0)),
        KhugepagedFilledGaps,
        NotShown
    );
    assert!(is_silent(
        &filled(0.0, 1200.0, 5.0),
        CauseId::KhugepagedFilledGaps
    ));
    let settings = &mut record.header.plan.policies[1].settings;
    settings
        .khugepaged
        .extend([("max_ptes_none".to_owned(), 0)]);
    let found = figures!(judge(&record), KhugepagedFilledGaps, NotShown);
    assert_eq!(found.max_ptes_none, Some(0));
    record.header.plan.policies[1].settings.khugepaged.clear();
    record.header.host.thp.as_mut().unwrap().khugepaged.clear();
    assert_eq!(doubt(&record), Some(GapsDoubt::UnknownSetting));
}

#[test]
fn stacks_that_became_resident_whole_are_named() {
    let stacks = |mib: f64, threads: f64, huge: f64| {
        [
            ("thread_stacks_bytes", mib * MIB),
            ("threads_total", threads),
            ("thread_stacks_huge_bytes", huge * MIB),
        ]
    };
    let under = |here: [(&'static str, f64); 3]| judge(&two_arms(&stacks(4.0, 60.0, 0.0), &here));
    let found = figures!(under(stacks(110.0, 60.0, 96.0)), ThreadStacksGrew, Shown);
    assert_eq!(
        (found.stack_bytes.arm, found.stack_bytes.baseline),
        (110.0 * MIB, 4.0 * MIB)
    );
    assert_eq!(
        (found.threads.arm, found.huge_bytes),
        (60.0, Some(96.0 * MIB))
    );
    let found = figures!(
        under(stacks(110.0, 900.0, 0.0)),
        ThreadStacksGrew,
        CannotTell
    );
    assert_eq!((found.threads.arm, found.threads.baseline), (900.0, 60.0));
    figures!(under(stacks(4.0, 60.0, 0.0)), ThreadStacksGrew, NotShown);
    assert!(is_silent(&always(huge_pages()), CauseId::ThreadStacksGrew));
    let mut record = two_arms(&stacks(4.0, 60.0, 0.0), &stacks(110.0, 60.0, 96.0));
    let all = [
        "thread_stacks_bytes",
        "thread_stacks_huge_bytes",
        "threads_total",
    ];
    let refused = Missing::not_permitted("CAP_SYS_PTRACE");
    sample::take_away(&mut record, &all, &refused);
    assert_eq!(unread!(judge(&record), ThreadStacksGrew).reason, refused);
    sample::take_away(&mut record, &all, &Missing::NotAsked);
    assert!(is_silent(&record, CauseId::ThreadStacksGrew));
    let mut failed = always(huge_pages());
    for trial in failed.trials.iter_mut().filter(|it| it.policy != "as-is") {
        trial.outcome = hugewise_experiment::run::trial::Outcome::Exited { code: 1 };
    }
    assert!(is_silent(&failed, CauseId::ThreadStacksGrew));
}
