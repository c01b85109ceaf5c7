//! Memory that was cold in the host: kernel time that differs from trial to trial, and the price of a
//! cold start where trials were warmed.

use std::time::Duration;

use expect_test::expect;
use hugewise_model::base::host::Balloon;
use hugewise_model::run::compare::{self, Answer, Options, Order, Stratum};
use hugewise_model::run::findings::Outcome;
use hugewise_model::run::plan::HostMemory;
use hugewise_model::run::record::Record;
use hugewise_model::run::report::Report;
use hugewise_model::run::trial::{FirstTouch, Reading, Role};
use hugewise_model::text::{self, Style, Verbosity};

use super::judged::{always, judge, of, says};
use crate::sample::{self, huge_pages, small_pages, table, with};

/// Every third trial under the policy meets memory that the host has not backed.
fn with_cold_trials(mut record: Record, slow_seconds: f64) -> Record {
    for trial in record
        .trials
        .iter_mut()
        .filter(|trial| trial.policy == "thp=always")
    {
        if trial.round % 3 == 0 {
            let slow = Reading::of(slow_seconds);
            trial.readings.insert("system_seconds".to_owned(), slow);
        }
    }
    record
}

#[test]
fn host_cold_memory_shows_in_the_slow_quarter() {
    let id = "host-cold-memory";
    let still = [("compact_stall_total", 0.0), ("allocstall_total", 0.0)];
    let quick = with(&with(&huge_pages(), &still), &[("system_seconds", 0.1)]);
    let findings = judge(&with_cold_trials(always(quick.clone()), 1.6));
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: in some trials the hypervisor (KVM) probably had to back memory first. Kernel time was 99.5 ms in the fastest quarter of the trials and 1.60 s in the slowest, for the same 806 MiB of huge pages (3.72 ms more per huge page), without compaction or reclaim; on backed memory expect the fast case (--host-memory warm)
        "#]],
    );

    assert_eq!(
        of(&judge(&always(quick.clone())), id),
        None,
        "no slow quarter"
    );
    let stalled = with(&quick, &[("compact_stall_total", 9.0)]);
    let findings = judge(&with_cold_trials(always(stalled), 1.6));
    says(
        &findings,
        id,
        Outcome::CannotTell,
        &expect![[r#"
            thp=always: the kernel time of huge pages varies, and the machine also compacted or reclaimed memory. Kernel time was 99.5 ms in the fastest quarter of the trials and 1.60 s in the slowest, for the same 806 MiB of huge pages (3.72 ms more per huge page)
        "#]],
    );

    let mut bare_metal = with_cold_trials(always(quick), 1.6);
    bare_metal.header.host.hypervisor = None;
    assert_eq!(of(&judge(&bare_metal), id), None);
}

/// A Python dict of an eighth of a second: a sample saw few of its huge pages.
#[test]
fn huge_faults_count_where_samples_missed_huge_pages() {
    let figures = [
        ("compact_stall_total", 0.0),
        ("allocstall_total", 0.0),
        ("system_seconds", 0.09),
        ("peak_rss_bytes", 171.0 * 1048576.0),
        ("huge_anon_peak_bytes", 63.0 * 1048576.0),
        ("thp_fault_alloc_total", 73.0),
    ];
    let record = always(with(&huge_pages(), &figures));
    let findings = judge(&with_cold_trials(record, 0.5));
    says(
        &findings,
        "host-cold-memory",
        Outcome::Shown,
        &expect![[r#"
            thp=always: in some trials the hypervisor (KVM) probably had to back memory first. Kernel time was 89.5 ms in the fastest quarter of the trials and 500 ms in the slowest, for the same 146 MiB of huge pages (5.62 ms more per huge page), without compaction or reclaim; on backed memory expect the fast case (--host-memory warm)
        "#]],
    );
}

/// Faults are counted for the whole machine.
#[test]
fn huge_faults_of_others_take_no_memory_of_a_program_without_huge_pages() {
    let peak = ("peak_rss_bytes", 300.0 * 1048576.0);
    let faults = ("thp_fault_alloc_total", 200.0);
    let taken = |seen: f64| {
        let record = always(with(
            &huge_pages(),
            &[peak, faults, ("huge_anon_peak_bytes", seen)],
        ));
        let mut trials = record.trials.iter();
        let trial = trials.find(|it| it.policy == "thp=always");
        trial.expect("a trial").taken_bytes(4096, 2 << 20) >> 20
    };
    assert_eq!((taken(1e8), taken(0.0)), (400, 300));
}

/// A warmed run on a host that takes memory back: a price of touches, and runs after a rest of
/// `thp=always` and of the baseline.
fn warmed(rested_seconds: [&[f64]; 2]) -> Record {
    let huge = with(&huge_pages(), &[("thp_fault_alloc_total", 400.0)]);
    on_such_a_host(always(huge), "thp=always", rested_seconds)
}

/// The same of this policy in any record.
fn on_such_a_host(mut record: Record, policy: &str, rested_seconds: [&[f64]; 2]) -> Record {
    record.header.plan.host_memory = HostMemory::Warm;
    record.header.host.balloon = Some(Balloon {
        driver: "virtio_balloon".to_owned(),
        reported_block_bytes: Some(2 << 20),
    });
    for trial in &mut record.trials {
        let touch = FirstTouch::of(4 << 20, 4 << 20, &[0.005, 0.0002], &[0.0002]);
        trial.first_touch = Some(touch);
    }
    for (policy, rested) in [policy, "as-is"].into_iter().zip(rested_seconds) {
        let model = record.trials.iter().find(|it| it.policy == policy);
        let model = model.expect("a trial of the policy").clone();
        for seconds in rested {
            let mut trial = model.clone();
            trial.role = Role::Cold;
            let wall = Reading::of(*seconds);
            trial.readings.insert("wall_seconds".to_owned(), wall);
            record.push(trial);
        }
    }
    record
}

/// The pages that are touched before a start are those that were freed last, and were warm in every trial
/// of a Python dict whose runs took two times as long.
#[test]
fn runs_after_a_rest_tell_without_a_price_of_a_touch() {
    let mut record = warmed([&[5.1, 5.4, 5.2, 5.3], &[4.4, 4.6, 4.9, 4.5]]);
    for trial in record.trials.iter_mut().chain(&mut record.cold) {
        trial.first_touch = Some(FirstTouch::of(4 << 20, 4 << 20, &[0.0002], &[0.0002]));
    }
    says(
        &judge(&record),
        "host-cold-memory",
        Outcome::Shown,
        &expect![[r#"
            thp=always: a run after a few seconds of rest takes 15 % longer (95 %: 4 to 22 %; 4 runs of each) than with as-is; the host takes free memory back. 4 runs of thp=always after a rest took 5.25 s (median), and 4 of as-is 4.55 s
        "#]],
    );
}

/// The first screen of a record of this path, in one line.
fn reported(record: &Record, path: Option<&str>) -> String {
    let path = path.map(str::to_owned);
    in_one_line(&Report::new(
        record,
        table(record, 0.005),
        judge(record),
        path,
    ))
}

fn in_one_line(report: &Report<'_>) -> String {
    let document = report.document(80, Verbosity::Normal);
    let text = text::to_text(&document, &Style::default());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Which of two cases holds for a program depends on how it is run, so the first sentence has both.
#[test]
fn an_answer_says_for_which_runs_it_holds() {
    let text = |rested: [&[f64]; 2]| reported(&warmed(rested), None);
    let dear = text([&[5.1, 5.4, 5.2, 5.3], &[4.4, 4.6, 4.9, 4.5]]);
    let parts = [
        "only in back-to-back runs: 19.6 % less wall time with thp=always",
        "In single runs, each after 4 s of rest in which the hypervisor takes memory back, it takes 15 % longer (95 %: 4 to 22 %; 4 runs of each)",
        "Recommended for back-to-back runs: thp=always.",
        "For single runs (cron, a shell): as-is. ",
        "How sure: at least 95 % for back-to-back runs;",
    ];
    for part in parts {
        assert!(dear.contains(part), "{part}\n{dear}");
    }
    let cheap = text([&[4.1, 4.2, 4.2, 4.0], &[4.4, 4.6, 4.9, 4.5]]);
    assert!(!cheap.contains("back-to-back"), "{cheap}");
}

/// An experiment that goes on adds as many runs in a minute; twice as many that leave it open need one of their own.
#[test]
fn what_a_single_run_takes_is_decided_by_going_on_first() {
    let text = |rested: [&[f64]; 2], path: Option<&str>| {
        let mut record = warmed(rested);
        record.header.made_by = ["hugewise", "run", "--", "sort"].map(str::to_owned).into();
        reported(&record, path)
    };
    let open: [&[f64]; 2] = [&[4.1, 4.2, 4.7, 4.6], &[4.4, 4.6, 4.9, 4.5]];
    let on = "About 2 more minutes m";
    let next = "hugewise run --continue last";
    let anew = "--host-memory=rest:4s --max-time=";
    for rested in [open, [&[], &[]]] {
        let text = text(rested, Some("last"));
        assert!(
            text.contains(on) && text.contains(next) && !text.contains(anew),
            "{text}"
        );
    }
    let twice = open.map(|runs| runs.repeat(2));
    let twice = text([&twice[0], &twice[1]], Some("last"));
    let unnamed = text(open, None);
    for text in [twice, unnamed] {
        assert!(text.contains(anew) && !text.contains(next), "{text}");
    }
}

/// One command decides what else is open and adds single runs: a reader asked for a second one.
#[test]
fn a_command_for_another_question_adds_single_runs() {
    let record = sample::of_malloc(12, [4.0, 3.3, 3.4], 9.0);
    let text = |rested| {
        let record = on_such_a_host(record.clone(), "malloc=thp", rested);
        let table = compare::table(&record, &Options::default()).expect("a sound plan");
        in_one_line(&Report::new(
            &record,
            table,
            judge(&record),
            Some("last".to_owned()),
        ))
    };
    let open = text([&[4.1, 4.2, 4.7, 4.6], &[4.4, 4.6, 4.9, 4.5]]);
    let end = "decide whether its huge pages are the reason: hugewise run --continue last --max-time 11m For \
               single runs (cron, a shell): as-is, until decided. The command above adds single runs.";
    assert!(open.contains(end), "{open}");
    let longer = text([&[5.1, 5.4, 5.2, 5.3], &[4.4, 4.6, 4.9, 4.5]]);
    assert!(longer.contains("a shell): as-is. How sure"), "{longer}");
}

#[test]
fn warmed_trials_leave_out_the_price_of_a_cold_start() {
    let id = "host-cold-memory";
    let text = |record: &Record| of(&judge(record), id).expect("a price").text.clone();
    says(
        &judge(&warmed([&[], &[]])),
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: touching its huge pages takes about 1.93 s longer after a few seconds of rest, of which small pages pay a part as well; the host takes free memory back. The first touch of a huge page costs 5.00 ms then, and 200 µs otherwise
        "#]],
    );
    let record = warmed([&[5.1, 5.4, 5.2, 5.3], &[4.4, 4.6, 4.9, 4.5]]);
    says(
        &judge(&record),
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: a run after a few seconds of rest takes 15 % longer (95 %: 4 to 22 %; 4 runs of each) than with as-is; the host takes free memory back. The first touch of a huge page costs 5.00 ms then, and 200 µs otherwise. 4 runs of thp=always after a rest took 5.25 s (median), and 4 of as-is 4.55 s
        "#]],
    );
    let shorter = text(&warmed([&[4.1, 4.2, 4.2, 4.0], &[4.4, 4.6, 4.9, 4.5]]));
    assert!(
        shorter.contains("gains too: it takes 9 % less (95 %: 4 to 20 %; 4 runs of each)"),
        "{shorter}"
    );
    let few = text(&warmed([&[5.1, 5.4, 5.2], &[4.4, 4.6, 4.9]]));
    assert!(few.contains("measured too few times"), "{few}");
    let overlapping = text(&warmed([&[4.1, 4.2, 4.7, 4.6], &[4.4, 4.6, 4.9, 4.5]]));
    assert!(
        overlapping.contains("was not shown to be longer or shorter"),
        "{overlapping}"
    );
    assert_eq!(
        table(&record, 0.005),
        table(&warmed([&[], &[]]), 0.005),
        "no comparison uses cold trials"
    );
    let mut as_is = warmed([&[], &[]]);
    as_is.header.plan.host_memory = HostMemory::AsIs;
    assert_eq!(of(&judge(&as_is), id), None);
}

#[test]
fn cold_trials_are_enough_for_an_interval_or_none() {
    let due = |record: &Record, seconds| record.cold_trials_due(Duration::from_secs(seconds), None);
    let record = warmed([&[], &[]]);
    let none = Vec::<usize>::new();
    let four_of_each = [1, 0, 1, 0, 1, 0, 1, 0];
    // Eight of 4 s of rest and 6.3 s, and 2 s before them, are a tenth of 844 s.
    assert_eq!(due(&record, 800), none);
    assert_eq!(due(&record, 9000), four_of_each);
    let recommended = |record: &Record, spent, most: Option<u64>, policy| {
        let mut record = record.clone();
        record.header.plan.bounds.max_time = most.map(Duration::from_secs);
        record.cold_trials_due(Duration::from_secs(spent), Some(policy))
    };
    let given = |spent, most| recommended(&record, spent, most, "thp=always");
    assert_eq!(given(55, Some(140)), four_of_each, "what the rounds leave");
    assert_eq!(given(60, Some(140)), four_of_each, "nearly what is left");
    assert_eq!(given(70, Some(140)), none);
    // Each pair takes 20.6 s.
    assert_eq!(given(60, Some(190)), [1, 0].repeat(6), "as many as fit");
    assert_eq!(
        given(60, Some(900)),
        [1, 0].repeat(8),
        "more are worth less"
    );
    assert_eq!(given(60, None), none, "half of the usual time");
    assert_eq!(recommended(&record, 60, Some(150), "as-is"), none);
    let mut usual = record.clone();
    let rounds = usual.rounds_run();
    usual.header.plan.bounds.least_rounds = Some(rounds);
    assert_eq!(
        recommended(&usual, 60, Some(60), "thp=always"),
        four_of_each,
        "nobody gave the time, and the rounds are the fewest"
    );
    usual.header.plan.bounds.least_rounds = Some(rounds - 1);
    assert_eq!(
        recommended(&usual, 60, Some(60), "thp=always"),
        four_of_each,
        "the fewest rounds and the runs never fitted"
    );
    usual.header.plan.bounds.least_rounds = Some(1);
    assert_eq!(
        recommended(&usual, 190, Some(200), "thp=always"),
        none,
        "later rounds took it"
    );
    let mut bounded = record.clone();
    bounded.header.plan.bounds.max_time = Some(Duration::from_secs(9010));
    assert_eq!(due(&bounded, 9000), none, "10 s are left");
    let mut as_is = record.clone();
    as_is.header.plan.host_memory = HostMemory::AsIs;
    assert_eq!(due(&as_is, 9000), none);
    let mut small = always(small_pages());
    small.header = record.header.clone();
    assert_eq!(due(&small, 9000), none);
    let mut long = record;
    for trial in &mut long.trials {
        trial
            .readings
            .insert("wall_seconds".to_owned(), Reading::of(11.0));
    }
    assert_eq!(due(&long, 9000), none);
}

/// Where the machine's setting is `always`, the baseline has the most.
#[test]
fn the_baseline_is_not_compared_with_itself_on_cold_memory() {
    let mut record = warmed([&[], &[]]);
    record.header.plan.baseline = "thp=always".to_owned();
    assert_eq!(
        record.cold_trials_due(Duration::from_secs(9000), None),
        [0; 0]
    );
}

/// It is the question that the order leaves open, answered.
#[test]
fn where_the_order_matters_runs_after_a_rest_are_said_with_it() {
    let record = warmed([&[5.1, 5.4, 5.2, 5.3], &[4.4, 4.6, 4.9, 4.5]]);
    let mut table = table(&record, 0.005);
    let policy = "thp=always".to_owned();
    let stratum = |from_seconds, to_seconds, ratio| Stratum {
        from_seconds,
        to_seconds,
        trials: 6,
        ratio: Some(ratio),
        low: None,
        high: None,
    };
    let answers = &mut table.verdict.policies;
    answers.insert(policy.clone(), Answer::DependsOnOrder);
    table.verdict.best = None;
    table.verdict.order = Some(Order {
        p: 0.01,
        policies: vec![policy],
        strata: vec![stratum(0.0, Some(0.0), 0.7), stratum(1.0, None, 1.4)],
    });
    let report = Report::new(&record, table, judge(&record), None);
    let answer = report.answers()[0].clone();
    let end = "1 s or more after one +40.0 %. In single runs, each after 4 s of rest in which the hypervisor takes memory back, it takes 15 % longer \
               (95 %: 4 to 22 %; 4 runs of each).";
    assert!(answer.ends_with(end), "{answer}");
}
