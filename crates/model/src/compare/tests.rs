//! Whole records, compared.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::host::{Cgroup, Host, ThpDisable, ThpSettings, User};
use crate::metric::Better;
use crate::observation::{Mark, Missing, Outcome, ReadBack, Reading, Role, Trial};
use crate::plan::{Bounds, Plan, PrintedMetric, Slot};
use crate::policy::realise::{FileWrite, Realisation};
use crate::policy::{Malloc, Policy, Settings, Thp};
use crate::record::{Header, Record, StopReason, VERSION};

mod requests;

const MIB: f64 = 1_048_576.0;

fn host() -> Host {
    Host {
        kernel: "6.18.0".to_owned(),
        arch: "x86_64".to_owned(),
        boot_line: String::new(),
        boot_id: String::new(),
        cpu_model: "some processor".to_owned(),
        cpus: 2,
        numa_nodes: 1,
        memory_bytes: 1 << 34,
        swap_bytes: 0,
        page_bytes: 4096,
        hypervisor: None,
        governor: None,
        thp: Ok(ThpSettings {
            enabled: "madvise".to_owned(),
            defrag: "madvise".to_owned(),
            zero_page: true,
            pmd_bytes: 2 << 20,
            shmem_enabled: None,
            khugepaged: BTreeMap::new(),
            sizes: BTreeMap::new(),
        }),
        hugetlb: BTreeMap::new(),
        thp_disable: ThpDisable::Off,
        except_advised: true,
        cgroup: Cgroup {
            version: 2,
            path: "/".to_owned(),
            limit_bytes: None,
        },
        user: User {
            uid: 0,
            workload_uid: 0,
            can_write_thp: true,
        },
        glibc: None,
        allocators: BTreeMap::new(),
        load_1min: 0.0,
        free_blocks: Vec::new(),
    }
}

fn policy(name: &str, thp: Option<Thp>) -> Policy {
    let settings = Settings {
        thp,
        ..Settings::default()
    };
    Policy {
        name: name.to_owned(),
        settings,
    }
}

/// Policies `never` (the baseline), `always` and `again`, whose settings are the baseline's.
fn plan() -> Plan {
    Plan {
        command: vec!["true".to_owned()],
        shell: false,
        policies: vec![
            policy("never", Some(Thp::Never)),
            policy("always", Some(Thp::Always)),
            policy("again", Some(Thp::Never)),
        ],
        baseline: "never".to_owned(),
        seed: 7,
        bounds: Bounds {
            threshold: 0.01,
            precision: None,
            warmup_rounds: 0,
            min_rounds: 10,
            max_rounds: 40,
            max_time: None,
        },
        verdict_metric: "wall_seconds".to_owned(),
        latency: None,
        printed: vec![PrintedMetric {
            name: "ops".to_owned(),
            pattern: "([0-9]+) ops".to_owned(),
            unit: "1/s".to_owned(),
            better: Better::Higher,
        }],
        bench: None,
        service: None,
        fragment: None,
    }
}

/// Runs `rounds` rounds of a plan; `fill` gives the readings of each trial.
fn record_of(plan: Plan, rounds: u32, fill: impl Fn(&mut Trial, Slot)) -> Record {
    let mut record = Record::begin(Header {
        version: VERSION,
        program: "test".to_owned(),
        made_by: Vec::new(),
        created_unix_ms: 0,
        host: host(),
        plan,
        realisations: BTreeMap::new(),
    });
    for round in 0..rounds {
        for slot in record.header.plan.round(round) {
            let mut trial = Trial {
                index: record.trials.len() as u32,
                round,
                policy: record.header.plan.policies[slot.policy].name.clone(),
                role: slot.role,
                started_unix_ms: 0,
                outcome: Outcome::Exited { code: 0 },
                stderr_tail: None,
                readings: BTreeMap::new(),
                read_back: ReadBack::default(),
                marks: Vec::new(),
                pacing: None,
                timeline: None,
            };
            fill(&mut trial, slot);
            record.trials.push(trial);
        }
    }
    record
}

/// A number near 1 that differs from round to round and from trial to trial.
fn wobble(trial: &Trial) -> f64 {
    let mut random = fastrand::Rng::with_seed(u64::from(trial.index) + 1);
    1.0 + 0.002 * (random.f64() - 0.5) + 0.01 * f64::from(trial.round)
}

fn read(trial: &mut Trial, metric: &str, value: f64) {
    trial.readings.insert(metric.to_owned(), Reading::of(value));
}

/// `always` is a fifth faster and has its pages huge; `again` is like the baseline.
fn fast(trial: &mut Trial, slot: Slot) {
    let is_always = slot.policy == 1;
    let seconds = wobble(trial) * if is_always { 0.8 } else { 1.0 };
    read(trial, "wall_seconds", seconds);
    read(
        trial,
        "minor_faults_total",
        if is_always { 140.0 } else { 51_200.0 },
    );
    read(trial, "peak_rss_bytes", 800.0 * MIB);
    read(
        trial,
        "huge_anon_peak_bytes",
        if is_always { 790.0 * MIB } else { 0.0 },
    );
    read(trial, "thp_split_pmd_total", 0.0);
}

fn the_table(record: &Record) -> Table {
    table(record, &Options::default()).expect("the plan is sound")
}

fn row<'a>(table: &'a Table, metric: &str, policy: &str) -> &'a Comparison {
    let is_it = |row: &&Comparison| {
        row.metric == metric && row.policy == policy && row.statistic == Statistic::Center
    };
    table
        .comparisons
        .iter()
        .find(is_it)
        .expect("the row is there")
}

#[test]
fn a_plain_experiment_has_a_plain_answer() {
    let table = the_table(&record_of(plan(), 25, fast));
    assert_eq!(table.verdict.policies["always"], Answer::Better);
    assert_eq!(table.verdict.policies["again"], Answer::NoDifference);
    assert_eq!(table.verdict.best.as_deref(), Some("always"));
    assert!(
        table.verdict.reasons.is_empty(),
        "{:?}",
        table.verdict.reasons
    );
    assert!(table.control.as_ref().is_some_and(|control| control.passed));
    let wall = row(&table, "wall_seconds", "always");
    let ratio = wall.ratio.expect("a ratio");
    assert!((ratio - 0.8).abs() < 0.001 && wall.n == 25, "{wall:?}");
    assert!(wall.low.expect("low") <= ratio && ratio <= wall.high.expect("high"));
    // All 25 signs alike, 2 / 2²⁵; six times for the look's share, twice for the two policies.
    let p = wall.p.expect("tested");
    assert!((p / (12.0 * 0.5_f64.powi(24)) - 1.0).abs() < 1e-9, "{p}");
    let faults = row(&table, "minor_faults_total", "always");
    assert_eq!((faults.change, faults.n), (Change::Lower, 25));
    let splits = row(&table, "thp_split_pmd_total", "always");
    assert_eq!(
        (splits.scale, splits.difference),
        (Scale::Difference, Some(0.0))
    );
    assert_eq!((splits.change, splits.p), (Change::NoDifference, None));
    let huge = row(&table, "huge_anon_peak_bytes", "always");
    assert_eq!(
        (huge.change, huge.p),
        (Change::Higher, None),
        "a fact is not tested"
    );
}

#[test]
fn a_first_table_of_one_policy_can_be_settled_at_the_first_look() {
    let mut small = plan();
    small.policies.truncate(2);
    let table = the_table(&record_of(small, 10, |trial, slot| {
        fast(trial, slot);
        for metric in ["user_seconds", "system_seconds", "voluntary_switches_total"] {
            read(trial, metric, wobble(trial));
        }
    }));
    // 2 / 2¹⁰, six times for the share, and at most four times for Holm.
    let faults = row(&table, "minor_faults_total", "always");
    assert_eq!(faults.change, Change::Lower);
    let p = faults.p.expect("tested");
    assert!(
        (p / (3.0 * 6.0 * 2.0 / 1024.0) - 1.0).abs() < 1e-9,
        "peak memory is constant: {p}"
    );
}

#[test]
fn rows_are_in_the_order_of_reports() {
    let record = record_of(plan(), 3, |trial, _| {
        for name in [
            "ops",
            "mthp_64kib_peak_bytes",
            "mthp_16kib_peak_bytes",
            "peak_rss_bytes",
        ] {
            read(trial, name, 1.0);
        }
        read(trial, "wall_seconds", 1.0);
    });
    let table = the_table(&record);
    let center = table
        .comparisons
        .iter()
        .filter(|row| row.statistic == Statistic::Center);
    let order: Vec<(&str, &str)> = center.map(|row| (&*row.metric, &*row.policy)).collect();
    let metrics = [
        "wall_seconds",
        "peak_rss_bytes",
        "mthp_16kib_peak_bytes",
        "mthp_64kib_peak_bytes",
        "ops",
    ];
    let want: Vec<_> = metrics
        .iter()
        .flat_map(|&m| [(m, "always"), (m, "again")])
        .collect();
    assert_eq!(order, want);
}

#[test]
fn another_baseline_inverts_the_ratio() {
    let record = record_of(plan(), 25, fast);
    let there = the_table(&record);
    let options = Options {
        baseline: Some("always".to_owned()),
        ..Options::default()
    };
    let back = table(&record, &options).expect("a policy of the plan");
    let (there, back) = (
        row(&there, "wall_seconds", "always"),
        row(&back, "wall_seconds", "never"),
    );
    let near = |a: Option<f64>, b: Option<f64>| (a.expect("a") * b.expect("b") - 1.0).abs() < 1e-12;
    assert!(
        near(there.ratio, back.ratio) && near(there.low, back.high) && near(there.high, back.low)
    );
    // The family is of the same size, so even the corrected p-value is the smaller of two.
    assert_eq!((there.change, back.change), (Change::Lower, Change::Higher));
}

#[test]
fn a_failed_trial_takes_its_pair_out() {
    let record = record_of(plan(), 12, |trial, slot| {
        fast(trial, slot);
        if slot.policy == 1 && trial.round == 4 {
            trial.outcome = Outcome::Signalled { signal: 11 };
            read(trial, "wall_seconds", 1e-9);
        }
    });
    let table = the_table(&record);
    let wall = row(&table, "wall_seconds", "always");
    assert_eq!(wall.n, 11);
    assert_eq!(
        wall.warnings,
        ["1 round is left out: a trial failed (killed by signal 11)"]
    );
    assert_eq!(row(&table, "wall_seconds", "again").n, 12);
}

#[test]
fn a_policy_that_always_fails_is_not_judged() {
    let record = record_of(plan(), 12, |trial, slot| {
        fast(trial, slot);
        if slot.policy == 1 {
            trial.outcome = Outcome::Exited { code: 127 };
        }
    });
    let verdict = the_table(&record).verdict;
    assert_eq!(verdict.policies["always"], Answer::CannotTell);
    assert_eq!(
        verdict.reasons["always"],
        "every trial failed, the first: exit status 127"
    );
    assert_eq!(verdict.best, None, "it might have been the best");
}

#[test]
fn what_was_not_read_is_a_row_with_its_reason() {
    let record = record_of(plan(), 12, |trial, slot| {
        fast(trial, slot);
        let reading = Reading::missing(Missing::NoHardware);
        trial
            .readings
            .insert("cgroup_peak_bytes".to_owned(), reading);
    });
    let table = the_table(&record);
    let row = row(&table, "cgroup_peak_bytes", "always");
    assert_eq!((row.n, row.ratio, row.low, row.p), (0, None, None, None));
    assert_eq!((row.change, row.more_rounds), (Change::CannotTell, None));
    assert_eq!(row.warnings, ["this machine has no hardware counters"]);
}

#[test]
fn a_round_that_was_cut_off_is_left_out() {
    let mut record = record_of(plan(), 11, fast);
    // Only the control is missing: every pair of the round is there, and still none counts.
    let is_cut = |trial: &Trial| trial.round == 10 && trial.role == Role::Control;
    record.trials.retain(|trial| !is_cut(trial));
    assert_eq!(progress(&record).expect("sound").rounds, 10);
    let table = the_table(&record);
    let wall = row(&table, "wall_seconds", "always");
    assert_eq!((wall.n, row(&table, "wall_seconds", "again").n), (10, 10));
    assert_eq!(
        wall.warnings,
        ["1 round is left out: cut off before its last trial"]
    );
}

#[test]
fn marks_travel_with_the_number() {
    let record = record_of(plan(), 10, |trial, slot| {
        fast(trial, slot);
        if trial.round < 2 {
            trial.marks.push(Mark::Steal { permille: 25 });
        }
    });
    let table = the_table(&record);
    let wall = row(&table, "wall_seconds", "always");
    let want = "4 of 20 trials are marked, the first: the hypervisor took 2.5 % of the time";
    assert_eq!(
        (wall.n, wall.warnings.as_slice()),
        (10, &[want.to_owned()][..])
    );
}

#[test]
fn a_control_that_differs_spoils_every_answer_but_one() {
    let record = record_of(plan(), 25, |trial, slot| {
        fast(trial, slot);
        if slot.role == Role::Control {
            read(trial, "wall_seconds", 1.5 * wobble(trial));
        }
    });
    let table = the_table(&record);
    assert!(
        table
            .control
            .as_ref()
            .is_some_and(|control| !control.passed)
    );
    assert_eq!(table.verdict.policies["always"], Answer::CannotTell);
    assert!(table.verdict.reasons["always"].contains("differed from itself"));
    assert_eq!(table.verdict.best, None);
}

#[test]
fn a_policy_that_was_not_in_force_is_not_judged() {
    let record = record_of(plan(), 12, |trial, slot| {
        fast(trial, slot);
        if slot.policy == 1 && trial.round == 3 {
            trial.marks.push(Mark::NotApplied {
                detail: "enabled is never".to_owned(),
            });
        }
    });
    let verdict = the_table(&record).verdict;
    assert_eq!(verdict.policies["always"], Answer::CannotTell);
    assert_eq!(
        verdict.reasons["always"],
        "the policy did not take: enabled is never"
    );
}

/// `always` gets the pages of the baseline; `change` may make an exception.
fn same_pages(change: impl Fn(&mut Trial, Slot)) -> Record {
    record_of(plan(), 12, |trial, slot| {
        fast(trial, slot);
        read(
            trial,
            "minor_faults_total",
            51_200.0 + f64::from(trial.index),
        );
        read(trial, "huge_anon_peak_bytes", 0.0);
        change(trial, slot);
    })
}

#[test]
fn equal_pages_are_no_effect() {
    let verdict = the_table(&same_pages(|_, _| ())).verdict;
    assert_eq!(
        verdict.policies["always"],
        Answer::NoEffect,
        "although it seems a fifth faster"
    );
    let reason = &verdict.reasons["always"];
    assert!(
        reason.starts_with("no page was huge under either; 51,2"),
        "{reason}"
    );
    let nearly = same_pages(|trial, slot| {
        let more = f64::from(u8::from(slot.policy == 1)) * 4_096.0;
        read(trial, "huge_anon_peak_bytes", 8_388_608.0 + more);
    });
    let reason = &the_table(&nearly).verdict.reasons["always"];
    assert!(
        reason.contains("huge pages seen differed most, 8.00 MiB against 8.00 MiB (up to 8.00"),
        "{reason}"
    );
    let equal = same_pages(|trial, _| read(trial, "huge_anon_peak_bytes", 8_388_608.0));
    let reason = &the_table(&equal).verdict.reasons["always"];
    assert!(
        reason.starts_with("as much was huge under both (huge pages seen: 8.00 MiB); 51,2"),
        "{reason}"
    );
    assert_eq!(
        verdict.policies["again"],
        Answer::NoDifference,
        "meant to be the same"
    );
    assert_eq!(verdict.best.as_deref(), Some("never"));
}

#[test]
fn no_effect_is_only_said_of_equal_pages() {
    let answer = |record: &Record| the_table(record).verdict.policies["always"];
    let only_always = |metric: &'static str, value: f64| {
        same_pages(move |trial, slot| {
            read(trial, metric, if slot.policy == 1 { value } else { 0.0 });
        })
    };
    for metric in [
        "huge_anon_mean_bytes",
        "hugetlb_peak_bytes",
        "mthp_64kib_exit_bytes",
    ] {
        assert_eq!(
            answer(&only_always(metric, 9.0 * MIB)),
            Answer::Better,
            "{metric}"
        );
        assert_eq!(
            answer(&only_always(metric, 7.0 * MIB)),
            Answer::NoEffect,
            "{metric}"
        );
    }
    let fewer_faults = same_pages(|trial, slot| {
        read(
            trial,
            "minor_faults_total",
            if slot.policy == 1 { 47_000.0 } else { 51_200.0 },
        );
    });
    assert_eq!(
        answer(&fewer_faults),
        Answer::Better,
        "too short to be sampled"
    );
    let unread = same_pages(|trial, _| {
        let reading = Reading::missing(Missing::TooShort);
        trial
            .readings
            .insert("huge_anon_peak_bytes".to_owned(), reading);
    });
    assert_eq!(
        answer(&unread),
        Answer::Better,
        "nothing is known of the pages"
    );
    let mut allocator = same_pages(|_, _| ());
    allocator.header.plan.policies[1].settings.malloc = Some(Malloc::Jemalloc);
    assert_eq!(
        answer(&allocator),
        Answer::Better,
        "an allocator acts otherwise too"
    );
}

#[test]
fn few_rounds_say_how_many_are_needed() {
    let table = the_table(&record_of(plan(), 5, fast));
    assert_eq!(table.verdict.policies["always"], Answer::CannotTell);
    let reason = &table.verdict.reasons["always"];
    assert_eq!(
        reason,
        "only 5 whole rounds were measured; an answer needs at least 8"
    );
    assert_eq!(row(&table, "wall_seconds", "always").more_rounds, Some(3));
    assert_eq!(table.verdict.best, None);
}

#[test]
fn an_empty_record_is_told_as_such() {
    let table = the_table(&record_of(plan(), 0, fast));
    assert_eq!(table.verdict.policies["always"], Answer::CannotTell);
    assert_eq!(table.verdict.reasons["always"], "no whole round was run");
    assert_eq!(
        progress(&record_of(plan(), 0, fast)).expect("sound").stop,
        None
    );
}

#[test]
fn more_is_better_where_the_user_says_so() {
    let record = record_of(plan(), 25, |trial, slot| {
        fast(trial, slot);
        let factor = if slot.policy == 1 { 1.1 } else { 1.0 };
        let values = (0..40)
            .map(|i| factor * (wobble(trial) * 1000.0 + f64::from(i)))
            .collect();
        trial
            .readings
            .insert("ops".to_owned(), Reading::Values { values });
    });
    let options = Options {
        verdict_metric: Some("ops".to_owned()),
        ..Options::default()
    };
    let table = table(&record, &options).expect("a printed metric");
    assert_eq!(table.verdict.policies["always"], Answer::Better);
    let of_ops = table
        .comparisons
        .iter()
        .filter(|row| row.metric == "ops" && row.policy == "always");
    let statistics: Vec<_> = of_ops.clone().map(|row| row.statistic).collect();
    let [_, _, tails @ ..] = Quantile::ALL.map(Statistic::Quantile);
    assert_eq!(statistics[0], Statistic::Center);
    assert_eq!(statistics[1..], tails, "1,000 values support all of them");
    for row in of_ops {
        assert!((row.ratio.expect("positive") - 1.1).abs() < 0.01, "{row:?}");
        assert_eq!(
            row.low.is_some(),
            row.statistic != Statistic::Quantile(Quantile::Max)
        );
    }
}

#[test]
fn tails_over_rounds_need_twenty_of_them() {
    let statistics = |rounds| -> Vec<Statistic> {
        let table = the_table(&record_of(plan(), rounds, fast));
        let rows = table.comparisons.iter();
        rows.filter(|row| row.metric == "wall_seconds" && row.policy == "always")
            .map(|row| row.statistic)
            .collect()
    };
    let [p95, max] = [Quantile::P95, Quantile::Max].map(Statistic::Quantile);
    assert_eq!(statistics(19), [Statistic::Center, max]);
    assert_eq!(statistics(20), [Statistic::Center, p95, max]);
}

#[test]
fn what_does_not_exist_is_named() {
    let record = record_of(plan(), 3, fast);
    let error = |options: Options| table(&record, &options).expect_err("wrong").to_string();
    let baseline = Options {
        baseline: Some("nevr".to_owned()),
        ..Options::default()
    };
    assert_eq!(
        error(baseline),
        "no policy is called `nevr`; choose a baseline among: never, always, again"
    );
    let metric = Options {
        verdict_metric: Some("speed".to_owned()),
        ..Options::default()
    };
    assert!(
        error(metric).starts_with("no metric is called `speed`; this record has: wall_seconds")
    );
    let threshold = Options {
        threshold: Some(f64::NAN),
        ..Options::default()
    };
    assert!(error(threshold).contains("write 0.01 for 1 %"));
}

#[test]
fn an_experiment_stops_at_a_look_and_not_between() {
    let mut small = plan();
    small.policies.truncate(2);
    let stop = |rounds| {
        progress(&record_of(small.clone(), rounds, fast))
            .expect("sound")
            .stop
    };
    assert_eq!(
        (stop(9), stop(10), stop(11)),
        (None, Some(StopReason::Decided), None)
    );
    let progress = progress(&record_of(small.clone(), 9, fast)).expect("sound");
    assert_eq!((progress.rounds, progress.next_look), (9, Some(10)));
    assert_eq!(progress.policies[0].answer, Answer::Better);
}

#[test]
fn an_experiment_ends_at_its_bounds() {
    let noisy = |trial: &mut Trial, _: Slot| {
        let value = (wobble(trial) - 1.0).sin() * 3.0 + 4.0 + f64::from(trial.index % 7);
        read(trial, "wall_seconds", value);
    };
    let stop = |plan: Plan, rounds| {
        progress(&record_of(plan, rounds, noisy))
            .expect("sound")
            .stop
    };
    assert_eq!(stop(plan(), 16), None);
    assert_eq!(stop(plan(), 40), Some(StopReason::MaxRounds));
    let mut precise = plan();
    precise.bounds.precision = Some(10.0);
    assert_eq!(stop(precise, 16), Some(StopReason::Precise));
    let mut single = plan();
    single.policies.truncate(1);
    assert_eq!(
        (stop(single.clone(), 9), stop(single, 10)),
        (None, Some(StopReason::Measured))
    );
}

#[test]
fn one_policy_has_a_summary() {
    let record = record_of(plan(), 10, fast);
    let seconds = summary(&record, "never", "wall_seconds").expect("read");
    assert_eq!(seconds.n, 10, "the control is not in it");
    assert!(seconds.low.expect("ten") <= seconds.median);
    assert!(seconds.median <= seconds.high.expect("ten"));
    assert_eq!(summary(&record, "never", "ops"), None);
}

#[test]
fn two_records_compare_only_in_like_circumstances() {
    let a = record_of(plan(), 12, fast);
    let mut b = record_of(plan(), 14, |trial, slot| {
        fast(trial, slot);
        let slower = trial.value("wall_seconds").map_or(0.0, |value| value * 1.5);
        read(trial, "wall_seconds", slower);
    });
    let table = between(&a, &b, Across::Refused).expect("the same circumstances");
    let wall = row(&table, "wall_seconds", "never");
    assert!(
        (wall.ratio.expect("positive") - 1.5).abs() < 0.05,
        "{wall:?}"
    );
    assert_eq!(
        (wall.baseline.as_str(), wall.n, wall.warnings.len()),
        ("never", 12, 0)
    );
    assert_eq!(table.verdict.policies["never"], Answer::Worse);
    b.header.host.kernel = "6.19.0".to_owned();
    let error = between(&a, &b, Across::Refused)
        .expect_err("another kernel")
        .to_string();
    assert!(
        error.contains("kernel: 6.18.0 → 6.19.0") && error.contains("--across"),
        "{error}"
    );
    let table = between(&a, &b, Across::Allowed).expect("allowed");
    let warning = "circumstances differ: kernel: 6.18.0 → 6.19.0";
    assert_eq!(row(&table, "wall_seconds", "never").warnings, [warning]);
}

fn any_reading() -> impl Strategy<Value = Option<Reading>> {
    prop_oneof![
        Just(None),
        Just(Some(Reading::missing(Missing::TooShort))),
        any::<f64>().prop_map(|value| Some(Reading::of(value))),
        (-3_i32..3).prop_map(|value| Some(Reading::of(f64::from(value)))),
        proptest::collection::vec(any::<f64>(), 0..4)
            .prop_map(|values| Some(Reading::Values { values })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_reading_makes_it_panic_and_no_interval_leaves_its_estimate(
        readings in proptest::collection::vec(any_reading(), 48), rounds in 0_u32..12,
    ) {
        let record = record_of(plan(), rounds, |trial, _| {
            if let Some(reading) = readings[trial.index as usize].clone() {
                trial.readings.insert("wall_seconds".to_owned(), reading);
            }
        });
        let table = the_table(&record);
        for row in table.comparisons.iter().filter(|row| row.statistic == Statistic::Center) {
            if let (Some(low), Some(high)) = (row.low, row.high) {
                let estimate = row.ratio.or(row.difference).expect("an interval has a middle");
                prop_assert!(low <= estimate && estimate <= high, "{row:?}");
            }
        }
        prop_assert!(progress(&record).is_ok());
        prop_assert!(between(&record, &record, Across::Refused).is_ok());
    }

    #[test]
    fn the_order_of_lines_and_the_unit_do_not_matter(seed: u64, factor in 1e-3_f64..1e3) {
        let record = record_of(plan(), 12, fast);
        let mut other = record.clone();
        fastrand::Rng::with_seed(seed).shuffle(&mut other.trials);
        for trial in &mut other.trials {
            let scaled = trial.value("wall_seconds").map_or(0.0, |value| value * factor);
            read(trial, "wall_seconds", scaled);
        }
        let (plain, scaled) = (the_table(&record), the_table(&other));
        prop_assert_eq!(&plain.verdict, &scaled.verdict);
        let (plain, scaled) = (row(&plain, "wall_seconds", "always"), row(&scaled, "wall_seconds", "always"));
        prop_assert_eq!(plain.p, scaled.p);
        for (a, b) in [(plain.ratio, scaled.ratio), (plain.low, scaled.low), (plain.high, scaled.high)] {
            prop_assert!((a.expect("positive") / b.expect("positive") - 1.0).abs() < 1e-9);
        }
    }
}

/// Samples may miss what the machine's own counter saw.
#[test]
fn huge_faults_that_differ_are_an_effect() {
    let unseen = same_pages(|trial, slot| {
        let made = f64::from(u8::from(slot.policy == 1)) * 73.0;
        read(trial, "thp_fault_alloc_total", made);
    });
    assert_ne!(
        the_table(&unseen).verdict.policies["always"],
        Answer::NoEffect
    );
}

/// `always` is a hair quicker than `again`, by less than their intervals are wide.
#[test]
fn of_equally_good_policies_the_one_that_leaves_the_machine_alone_is_best() {
    let both_fast = |gap: f64| {
        record_of(plan(), 25, move |trial, slot| {
            fast(trial, slot);
            let factor = [1.0, 0.8, 0.8 + gap][slot.policy];
            let seconds = wobble(trial) * factor;
            read(trial, "wall_seconds", seconds);
        })
    };
    let best = |mut record: Record| {
        let enabled = FileWrite {
            path: "sys/kernel/mm/transparent_hugepage/enabled".to_owned(),
            value: "always".to_owned(),
        };
        let realisation = Realisation {
            files: vec![enabled],
            ..Realisation::default()
        };
        let realisations = &mut record.header.realisations;
        realisations.insert("always".to_owned(), realisation);
        the_table(&record).verdict.best
    };
    assert_eq!(best(both_fast(0.0001)).as_deref(), Some("again"));
    assert_eq!(
        best(both_fast(0.1)).as_deref(),
        Some("always"),
        "clearly better"
    );
}
