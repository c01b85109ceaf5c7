//! Where the time went, and stalls.

use expect_test::expect;
use hugewise_model::base::missing::Missing;
use hugewise_model::run::compare::{self, Options};
use hugewise_model::run::findings::{self, Finding, Outcome};
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::record::{self, Record};
use hugewise_model::run::trial::Reading;

use super::judged::{always, judge, of, says, two_arms};
use crate::sample::{self, huge_pages, small_pages, thp, with};

const STALLS: [(&str, f64); 3] = [
    ("direct_compaction_seconds", 0.002),
    ("direct_reclaim_seconds", 0.0),
    ("zeroing_seconds", 0.0),
];

#[test]
fn what_comes_once_is_told_from_what_lasts() {
    let id = "once-and-lasting";
    // Zeroing costs more than the faults did, and user mode is faster.
    let costly = with(&huge_pages(), &[("system_seconds", 0.88)]);
    says(
        &judge(&always(costly)),
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: pays in runs longer than 2.88 s; this one took 4.21 s. Bringing memory in costs 300 ms of kernel time once, and 12.1 % of user time is saved throughout
        "#]],
    );
    says(
        &judge(&always(huge_pages())),
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: saves 390 ms of kernel time once and 12.1 % of user time throughout. Kernel time is mostly that of bringing memory in, user time that of work
        "#]],
    );
    let small = [("user_seconds", 3.61), ("system_seconds", 0.19)];
    says(
        &judge(&always(with(&huge_pages(), &small))),
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: saves 390 ms of kernel time once, and nothing after that. Kernel time is mostly that of bringing memory in, user time that of work
        "#]],
    );
    let same = [("user_seconds", 3.61), ("system_seconds", 0.58)];
    says(
        &judge(&always(with(&huge_pages(), &same))),
        id,
        Outcome::NotShown,
        &expect![[r#"
            thp=always: neither kernel time nor user time changed
        "#]],
    );
}

/// Of 4.2 s half a second goes by until the memory is in.
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
    let findings = judge(&two_arms(
        &arrival(0.9, 0.55, 50_000.0),
        &arrival(0.5, 0.17, 1_300.0),
    ));
    says(
        &findings,
        "once-and-lasting",
        Outcome::Shown,
        &expect![[r#"
            thp=always: saves 390 ms of kernel time once and 12.1 % of user time throughout. Kernel time is mostly that of bringing memory in, user time that of work. Memory was in after 500 ms (as-is: 899 ms): until then kernel time changed by −380 ms and user time by −581 µs; after that by −9.99 ms and −439 ms, with 14 faults a second (as-is: 362)
        "#]],
    );
    let short = judge(&two_arms(
        &arrival(3.9, 0.55, 50_000.0),
        &arrival(3.0, 0.17, 1_300.0),
    ));
    let text = &of(&short, "once-and-lasting").expect("a finding").text;
    assert!(!text.contains("Memory was in"), "{text}");
}

#[test]
fn where_the_time_went() {
    let id = "where-the-time-went";
    let arms = |stalls: &[(&'static str, f64)]| {
        let arms = [
            (Policy::as_is(), with(&small_pages(), &STALLS)),
            (thp("thp=always", Thp::Always), with(&huge_pages(), stalls)),
        ];
        sample::record(&arms, 12)
    };
    let stalled = [
        ("direct_compaction_seconds", 0.022),
        ("direct_reclaim_seconds", 0.0),
        ("zeroing_seconds", 0.08),
    ];
    let findings = judge(&arms(&stalled));
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: user mode is the largest part of the time saved. Mean change per run −826 ms: user mode −439 ms, in direct compaction +20.0 ms, zeroing huge pages +80.1 ms, other kernel time, with page faults, −490 ms, off-CPU +3.16 ms; 2 of 5 causes could not be timed
        "#]],
    );
    let evidence = &of(&findings, id).unwrap().evidence;
    let figure = |name: &str| evidence[name].as_f64().unwrap();
    let sum = figure("mean_change_user_seconds")
        + figure("mean_change_direct_compaction_seconds")
        + figure("mean_change_zeroing_seconds")
        + figure("mean_change_other_kernel_seconds")
        + figure("mean_change_unexplained_seconds");
    assert!(
        (sum - figure("mean_change_wall_seconds")).abs() < 1e-9,
        "parts add up"
    );

    assert_eq!(
        of(&judge(&always(huge_pages())), id),
        None,
        "nothing was timed"
    );
    let mut torn = arms(&stalled);
    let one = torn
        .trials
        .iter_mut()
        .find(|trial| trial.policy == "thp=always");
    one.unwrap().readings.insert(
        "zeroing_seconds".to_owned(),
        Reading::missing(Missing::NotAsked),
    );
    let findings = judge(&torn);
    let text = &of(&findings, id).unwrap().text;
    assert!(text.contains("3 of 5 causes could not be timed"), "{text}");
}

/// These parts of where the time went, and no others, are the whole of it.
fn assert_whole(findings: &[Finding], parts: &[&str]) {
    let evidence = &of(findings, "where-the-time-went")
        .expect("the finding")
        .evidence;
    let sum: f64 = parts
        .iter()
        .map(|part| evidence[&format!("mean_change_{part}_seconds")].as_f64())
        .sum::<Option<f64>>()
        .expect("every part");
    let wall = evidence["mean_change_wall_seconds"]
        .as_f64()
        .expect("the whole");
    assert!((sum - wall).abs() < 1e-9, "{sum} of {wall}");
}

#[test]
fn page_faults_are_a_part_of_their_own_where_they_were_timed() {
    let id = "where-the-time-went";
    let before = [("page_fault_seconds", 0.5), ("zeroing_seconds", 0.0)];
    let after = [("page_fault_seconds", 0.12), ("zeroing_seconds", 0.08)];
    let findings = judge(&two_arms(&before, &after));
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: user mode is the largest part of the time saved. Mean change per run −826 ms: user mode −439 ms, zeroing huge pages +79.9 ms, other page faults −459 ms, other kernel time −10.4 ms, off-CPU +3.16 ms; 4 of 5 causes could not be timed
        "#]],
    );
    let parts = [
        "user",
        "zeroing",
        "other_fault",
        "other_kernel",
        "unexplained",
    ];
    assert_whole(&findings, &parts);

    // Cleared for longer than all faults took: not in faults, then, and no such part.
    let elsewhere = [("page_fault_seconds", 0.12), ("zeroing_seconds", 0.2)];
    let findings = judge(&two_arms(&before, &elsewhere));
    let text = &of(&findings, id).unwrap().text;
    assert!(text.contains("with page faults"), "{text}");
    assert!(!text.contains("other page faults"), "{text}");

    let only = |seconds| [("page_fault_seconds", seconds)];
    let findings = judge(&two_arms(&only(0.5), &only(0.1)));
    let text = &of(&findings, id).unwrap().text;
    assert!(text.contains(", page faults −399 ms, other"), "{text}");
}

#[test]
fn what_is_told_beside_the_parts_is_not_added_to_them() {
    let id = "where-the-time-went";
    let timed = |faults, copies, waits| {
        [
            ("page_fault_seconds", faults),
            ("copy_on_write_seconds", copies),
            ("direct_reclaim_seconds", 0.0),
            ("mmap_lock_wait_seconds", waits),
        ]
    };
    let findings = judge(&two_arms(&timed(0.5, 0.2, 0.0), &timed(0.12, 0.01, 0.001)));
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: user mode is the largest part of the time saved. Mean change per run −826 ms: user mode −439 ms, page faults −379 ms, other kernel time −10.4 ms, off-CPU +3.16 ms; copy-on-write within page faults −190 ms; waiting for mmap_lock +1.00 ms, summed over threads; 4 of 5 causes could not be timed
        "#]],
    );
    let parts = ["user", "other_fault", "other_kernel", "unexplained"];
    assert_whole(&findings, &parts);

    // Much of the faults may have been waiting, and waiting is not kernel time.
    let findings = judge(&two_arms(&timed(0.5, 0.0, 0.0), &timed(0.5, 0.0, 0.3)));
    let text = &of(&findings, id).unwrap().text;
    assert!(text.contains("with page faults"), "{text}");
    assert!(text.contains("; waiting for mmap_lock +3"), "{text}");
    assert!(!text.contains("copy-on-write"), "{text}");
}

#[test]
fn stalls_explain_a_loss() {
    let id = "stalls-explain-loss";
    let slow = |seconds| {
        [
            ("wall_seconds", 5.1),
            ("direct_compaction_seconds", seconds),
            ("direct_reclaim_seconds", 0.0),
        ]
    };
    let findings = judge(&two_arms(&STALLS, &slow(0.7)));
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: compaction and reclaim for its own allocations explain part of the loss. 902 ms were lost, the program spent 698 ms in direct compaction more; defrag=defer leaves that work to kernel threads
        "#]],
    );
    let share = &of(&findings, id).unwrap().evidence["stalls_share_of_loss"];
    assert!(share.as_f64().is_some_and(|share| share > 0.5), "{share}");
    let findings = judge(&two_arms(&STALLS, &slow(0.003)));
    says(
        &findings,
        id,
        Outcome::NotShown,
        &expect![[r#"
            thp=always: compaction and reclaim do not explain the loss. 902 ms were lost
        "#]],
    );
    // Nothing was lost, or nothing was timed.
    assert_eq!(of(&judge(&two_arms(&STALLS, &STALLS)), id), None);
    let slow = with(&huge_pages(), &[("wall_seconds", 5.1)]);
    assert_eq!(of(&judge(&always(slow)), id), None);
}

#[test]
fn a_win_that_is_paid_for_with_stalls_says_so() {
    let stalled = [("direct_compaction_seconds", 0.2)];
    let findings = judge(&two_arms(&STALLS[..1], &stalled));
    let found = of(&findings, "win-with-a-loss").unwrap();
    assert_eq!(found.outcome, Outcome::Shown, "{}", found.text);
    assert!(
        found.text.contains("in direct compaction"),
        "{}",
        found.text
    );
}

/// Shares of one run's findings are shares of one whole, and tell the same difference.
#[test]
fn findings_on_seconds_rest_on_one_basis() {
    for record in recorded_runs() {
        let table = compare::table(&record, &Options::default()).expect("a sound plan");
        let findings = findings::judge(&record, &table);
        for policy in &record.header.plan.policies {
            let said = |id: &str| {
                let mut all = findings.iter();
                let it = all.find(|it| it.id == id && it.policy.as_ref() == Some(&policy.name));
                it.map(|it| &it.evidence)
            };
            let change = |id: &str, metric: &str| {
                let means = said(id)?.get(metric)?;
                let baseline = means.get(&table.verdict.baseline)?.as_f64()?;
                Some(means.get(&policy.name)?.as_f64()? - baseline)
            };
            let ids = [
                "fewer-faults-explain-gain",
                "once-and-lasting",
                "zeroing-ate-the-gain",
            ];
            let kernel = ids.map(|id| change(id, "system_seconds"));
            let mut kernel = kernel.into_iter().flatten();
            if let Some(first) = kernel.next() {
                assert!(
                    kernel.all(|other| (other - first).abs() < 1e-12),
                    "{}",
                    policy.name
                );
            }
            let share = said("fewer-faults-explain-gain")
                .and_then(|it| it.get("kernel_share_of_gain")?.as_f64());
            let text = findings.iter().map(|it| it.text.as_str());
            let mut text = text.filter(|it| it.starts_with(&policy.name));
            assert!(
                share.is_none_or(|share| share <= 1.0)
                    || text.any(|it| it.contains("all of the gain"))
            );
        }
    }
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
    let records = files.map(|bytes| record::parse(bytes).expect("a record"));
    records.into()
}
