//! Rules about services, and about what only long runs show.

use std::time::Duration;

use expect_test::expect;
use hugewise_model::base::missing::Missing;
use hugewise_model::run::findings::Outcome;
use hugewise_model::run::plan::service::{
    CommandLine, Interleave, LoadPolicy, Service, StopSignal,
};
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::record::Record;
use hugewise_model::run::report::Report;

use super::judged::{always, judge, of, says, two_arms};
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

/// memcached faults on some tens of pages while its load runs, in one round half as many as in another.
#[test]
fn faults_of_a_server_say_nothing_of_its_pages() {
    let mut record = served(None, &[("minor_faults_total", 90_000.0)]);
    let table = sample::table(&record, 0.2);
    let answer = |record: &Record| {
        let report = Report::new(record, table.clone(), Vec::new(), None);
        report.answers().remove(0)
    };
    let of_server = answer(&record);
    assert!(
        of_server.contains("nothing that was run changed its pages"),
        "{of_server}"
    );
    // No sample met the huge pages of a command.
    record.header.plan.service = None;
    let of_command = answer(&record);
    assert!(of_command.contains("with thp=always"), "{of_command}");
}

#[test]
fn a_load_at_its_limit_is_named() {
    let id = "load-was-the-limit";
    let findings = |cpus: Option<Vec<u32>>, load: f64, service: f64| {
        let here = [("load_use_ratio", load), ("service_use_ratio", service)];
        judge(&served(cpus, &here))
    };
    says(
        &findings(Some(vec![1]), 0.97, 0.5),
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: the load was the bottleneck, so gains of the service are understated. It used 97.0 % of the CPUs it was bound to (1)
        "#]],
    );
    says(
        &findings(None, 0.8, 1.1),
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: load and service shared the CPUs, which distorts rates and latency. The load used 0.80 and the service 1.10 of 2 CPUs
        "#]],
    );
    says(
        &findings(None, 0.99, 0.5),
        id,
        Outcome::CannotTell,
        &expect![[r#"
            thp=always: the load may have been the bottleneck. It used 0.99 CPUs, all that one thread can use
        "#]],
    );
    says(
        &findings(Some(vec![1, 2]), 0.5, 1.0),
        id,
        Outcome::NotShown,
        &expect![[r#"
            as-is: the load was not the bottleneck. It used 0.40 and the service 0.90 of 2 CPUs
        "#]],
    );
    assert!(of(&judge(&always(huge_pages())), id).is_none());
}

#[test]
fn faults_that_were_only_taken_earlier_are_named() {
    let id = "cost-moved-to-the-start";
    let early = [
        ("service_ready_seconds", 3.1),
        ("minor_faults_total", 4_000.0),
    ];
    says(
        &judge(&served(None, &early)),
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: page faults moved from the load to the start. The service was ready after 3.10 s instead of 1.50 s; 4000 faults under the load instead of 51,200
        "#]],
    );
    let saved = [("minor_faults_total", 4_000.0)];
    says(
        &judge(&served(None, &saved)),
        id,
        Outcome::NotShown,
        &expect![[r#"
            thp=always: page faults did not move to the start. The service was ready after 1.50 s instead of 1.50 s; 4000 faults under the load instead of 51,200
        "#]],
    );
    assert!(of(&judge(&always(huge_pages())), id).is_none());
}

const MIB: f64 = 1_048_576.0;

#[test]
fn huge_pages_that_a_fork_shares_are_split_by_writes() {
    let id = "copy-on-write-after-fork";
    let forked = |splits: f64, copied: f64| {
        let shared = ("fork_shared_peak_bytes", 200.0 * MIB);
        let there = [shared, ("fork_copied_bytes", 60.0 * MIB)];
        let here = [
            shared,
            ("fork_copied_bytes", copied),
            ("thp_split_pmd_total", splits),
        ];
        judge(&two_arms(&there, &here))
    };
    says(
        &forked(96.0, 55.0 * MIB),
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: writes after a fork split huge pages. Processes shared up to 200 MiB, of which writes copied at least 55 MiB (27.5 %), 60 MiB under as-is; 96 huge mappings were split machine-wide, 0 under as-is
        "#]],
    );
    says(
        &forked(0.0, 55.0 * MIB),
        id,
        Outcome::NotShown,
        &expect![[r#"
            thp=always: writes after a fork split no huge pages, or copied them whole (Linux before 5.8). Processes shared up to 200 MiB, of which writes copied at least 55 MiB (27.5 %), 60 MiB under as-is; 0 huge mappings were split machine-wide, 0 under as-is
        "#]],
    );
    let seen_once = [
        ("fork_shared_peak_bytes", 200.0 * MIB),
        ("thp_split_pmd_total", 96.0),
    ];
    says(
        &judge(&two_arms(&[], &seen_once)),
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: writes after a fork split huge pages. Processes shared up to 200 MiB; 96 huge mappings were split machine-wide, 0 under as-is
        "#]],
    );
    assert_eq!(of(&judge(&always(huge_pages())), id), None, "no fork");
    let few = [("fork_shared_peak_bytes", 0.3 * MIB)];
    assert_eq!(of(&judge(&two_arms(&few, &few)), id), None, "a shell's");
}

#[test]
fn copies_whose_splits_are_unknown_prove_nothing() {
    let id = "copy-on-write-after-fork";
    let forked = [
        ("fork_shared_peak_bytes", 200.0 * MIB),
        ("fork_copied_bytes", 60.0 * MIB),
    ];
    let stalled = |seconds| [&forked[..], &[("copy_on_write_seconds", seconds)]].concat();
    let mut record = two_arms(&stalled(0.04), &stalled(0.09));
    let none = Missing::not_supported("thp_split_pmd in /proc/vmstat");
    sample::take_away(&mut record, &["thp_split_pmd_total"], &none);
    says(
        &judge(&record),
        id,
        Outcome::CannotTell,
        &expect![[r#"
        thp=always: huge mappings split was not measured under as-is: not on this machine: thp_split_pmd in /proc/vmstat
    "#]],
    );
}

#[test]
fn memory_that_khugepaged_filled_is_told_from_what_was_used() {
    let id = "khugepaged-filled-gaps";
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
    for (record, outcome, expected) in [
        (
            filled(300.0, 1200.0, 5.0),
            Outcome::Shown,
            expect![[r#"
                thp=always: khugepaged made untouched memory resident; max_ptes_none=0 prevents it. khugepaged made 300 huge pages machine-wide, each with up to 511 empty pages (max_ptes_none); peak memory rose by 388 MiB (+47.8 %), for which the 5 huge pages allocated at fault time are too few
            "#]],
        ),
        (
            filled(300.0, 1200.0, 400.0),
            Outcome::CannotTell,
            expect![[r#"
                thp=always: khugepaged or huge faults raised peak memory. khugepaged made 300 huge pages machine-wide, each with up to 511 empty pages (max_ptes_none); peak memory rose by 388 MiB (+47.8 %); the 400 huge pages allocated at fault time could also explain it
            "#]],
        ),
        (
            filled(100.0, 1200.0, 5.0),
            Outcome::CannotTell,
            expect![[r#"
                thp=always: peak memory rose by more than khugepaged can have filled. khugepaged made 100 huge pages machine-wide, each with up to 511 empty pages (max_ptes_none); peak memory rose by 388 MiB (+47.8 %)
            "#]],
        ),
        (
            filled(300.0, 812.0, 5.0),
            Outcome::NotShown,
            expect![[r#"
                thp=always: peak memory is not significantly higher. khugepaged made 300 huge pages machine-wide
            "#]],
        ),
    ] {
        says(&judge(&record), id, outcome, &expected);
    }
    assert_eq!(of(&judge(&filled(0.0, 1200.0, 5.0)), id), None);
    let mut record = filled(300.0, 1200.0, 5.0);
    let no_gap = ("max_ptes_none".to_owned(), 0);
    record.header.plan.policies[1]
        .settings
        .khugepaged
        .extend([no_gap]);
    says(
        &judge(&record),
        id,
        Outcome::NotShown,
        &expect![[r#"
            thp=always: khugepaged may fill no gaps (max_ptes_none=0). khugepaged made 300 huge pages machine-wide
        "#]],
    );
    record.header.plan.policies[1].settings.khugepaged.clear();
    record.header.host.thp.as_mut().unwrap().khugepaged.clear();
    says(
        &judge(&record),
        id,
        Outcome::CannotTell,
        &expect![[r#"
            thp=always: khugepaged may have filled gaps. khugepaged made 300 huge pages machine-wide; max_ptes_none is unknown
        "#]],
    );
}

#[test]
fn stacks_that_became_resident_whole_are_named() {
    let id = "thread-stacks-grew";
    let stacks = |mib: f64, threads: f64, huge: f64| {
        [
            ("thread_stacks_bytes", mib * MIB),
            ("threads_total", threads),
            ("thread_stacks_huge_bytes", huge * MIB),
        ]
    };
    let under = |here: [(&'static str, f64); 3]| judge(&two_arms(&stacks(4.0, 60.0, 0.0), &here));
    for (here, outcome, expected) in [
        (
            stacks(110.0, 60.0, 96.0),
            Outcome::Shown,
            expect![[r#"
                thp=always: thread stacks grew because they became huge pages. The stacks of 60 threads hold 110 MiB instead of 4 MiB (1.83 MiB per thread), 96 MiB of it huge; a stack that was huge stays resident when a guard page splits it
            "#]],
        ),
        (
            stacks(110.0, 900.0, 0.0),
            Outcome::CannotTell,
            expect![[r#"
                thp=always: thread stacks grew, but so did the number of threads. The stacks of 900 threads hold 110 MiB instead of 4 MiB; 60 threads before
            "#]],
        ),
        (
            stacks(4.0, 60.0, 0.0),
            Outcome::NotShown,
            expect![[r#"
                thp=always: thread stacks did not grow. The stacks of 60 threads hold 4 MiB instead of 4 MiB
            "#]],
        ),
    ] {
        says(&under(here), id, outcome, &expected);
    }
    assert_eq!(of(&judge(&always(huge_pages())), id), None);
    let mut record = two_arms(&stacks(4.0, 60.0, 0.0), &stacks(110.0, 60.0, 96.0));
    let all = [
        "thread_stacks_bytes",
        "thread_stacks_huge_bytes",
        "threads_total",
    ];
    let refused = Missing::not_permitted("CAP_SYS_PTRACE");
    sample::take_away(&mut record, &all, &refused);
    says(
        &judge(&record),
        id,
        Outcome::CannotTell,
        &expect![[r#"
        thp=always: thread stacks was not measured under as-is: not permitted; needs CAP_SYS_PTRACE
    "#]],
    );
    sample::take_away(&mut record, &all, &Missing::NotAsked);
    assert_eq!(of(&judge(&record), id), None);
}
