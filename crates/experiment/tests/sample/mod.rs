//! Handmade records for tests, with figures of the size that `sort -n` on a small virtual machine shows. They are not
//! measurements.
#![allow(
    dead_code,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "each test binary uses a part of it, and a panic is a test that fails"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use hugewise_base::host::{Cgroup, Host, ThpDisable, ThpSettings, User};
use hugewise_base::missing::Missing;
use hugewise_experiment::run::compare::{
    Change, Comparison, Control, PolicyAnswer, Scale, Statistic, Table, Verdict,
};
use hugewise_experiment::run::plan::service::{
    CommandLine, Interleave, LoadPolicy, Service, StopSignal, Windows,
};
use hugewise_experiment::run::plan::{
    Blocks, Bounds, HostMemory, JudgeBy, Live, Plan, Skip, Skipped, Work, live_policies,
};
use hugewise_experiment::run::policy::realise::{Realisation, ThpPrctl};
use hugewise_experiment::run::policy::{Policy, Settings, Thp};
use hugewise_experiment::run::record::{End, Header, Inside, Record, StopReason};
use hugewise_experiment::run::trial::{
    Advice, Mark, Outcome, ProcessTree, ReadBack, Reading, Role, Trial,
};

/// 2026-11-21 00:00 UTC.
pub const BEGIN_MS: u64 = 1_795_219_200_000;

pub fn host() -> Host {
    Host {
        kernel: "6.18.44".to_owned(),
        arch: "x86_64".to_owned(),
        boot_line: "console=ttyS0 root=/dev/vda".to_owned(),
        boot_id: "4f0a5d0e-6a7b-4f57-9f54-0f3f9a6f2b11".to_owned(),
        cpu_model: "AMD EPYC".to_owned(),
        cpus: 2,
        numa_nodes: 1,
        memory_bytes: 25_200_000_000,
        swap_bytes: 0,
        page_bytes: 4096,
        hypervisor: Some("KVM".to_owned()),
        governor: None,
        thp: Ok(ThpSettings {
            enabled: "madvise".to_owned(),
            defrag: "madvise".to_owned(),
            zero_page: true,
            pmd_bytes: 2 << 20,
            shmem_enabled: Some("never".to_owned()),
            khugepaged: BTreeMap::from([
                ("pages_to_scan".to_owned(), 4096),
                ("scan_sleep_millisecs".to_owned(), 10_000),
            ]),
            sizes: BTreeMap::from([(64, "never".to_owned()), (2048, "inherit".to_owned())]),
            shmem_sizes: BTreeMap::new(),
        }),
        hugetlb: BTreeMap::from([(
            2 << 20,
            hugewise_base::host::HugetlbPool {
                total: 0,
                free: 0,
                reserved: 0,
                overcommit: 0,
            },
        )]),
        thp_disable: ThpDisable::Off,
        except_advised: true,
        can_trace: false,
        library: None,
        can_collapse: false,
        cgroup: Cgroup {
            version: 1,
            path: "/".to_owned(),
            limit_bytes: None,
            can_make: false,
        },
        user: User {
            uid: 0,
            workload_uid: 0,
            can_write_thp: true,
        },
        glibc: Some((2, 36)),
        glibc_elf_thp: false,
        tunables: Default::default(),
        allocators: BTreeMap::new(),
        load_1min: 0.02,
        free_blocks: vec![1200, 800, 400, 200, 100, 90, 80, 70, 60, 50, 5000],
        balloon: None,
    }
}

pub fn thp(name: &str, thp: Thp) -> Policy {
    Policy {
        name: name.to_owned(),
        settings: Settings {
            thp: Some(thp),
            ..Settings::default()
        },
    }
}

pub fn plan(policies: Vec<Policy>) -> Plan {
    Plan {
        command: ["sort", "-n", "numbers.txt"].map(str::to_owned).to_vec(),
        shell: false,
        programs: Vec::new(),
        not_tried: None,
        baseline: policies[0].name.clone(),
        policies,
        seed: 7,
        bounds: Bounds {
            threshold: 0.01,
            precision: None,
            warmup_rounds: 1,
            min_rounds: 8,
            max_rounds: 32,
            max_time: None,
            least_rounds: None,
        },
        verdict_metric: "wall_seconds".to_owned(),
        judge_by: JudgeBy::Shape,
        printed: Vec::new(),
        bench: None,
        latency: None,
        service: None,
        fragment: None,
        host_memory: HostMemory::AsIs,
        blocks: Blocks::Shared,
        live: None,
    }
}

pub fn realisation(policy: &Policy) -> Realisation {
    Realisation {
        prctl: match policy.settings.thp {
            Some(Thp::Never) => ThpPrctl::Disable,
            Some(_) => ThpPrctl::Clear,
            None => ThpPrctl::Leave,
        },
        files: match policy.settings.thp {
            Some(Thp::Always) => vec![hugewise_experiment::run::policy::realise::FileWrite {
                path: "sys/kernel/mm/transparent_hugepage/enabled".to_owned(),
                value: "always".to_owned(),
            }],
            _ => Vec::new(),
        },
        ..Realisation::default()
    }
}

/// The readings of one policy in every trial, before the noise of the rounds.
pub type Figures = Vec<(&'static str, f64)>;

/// The figures of `sort -n` if no page is huge.
pub fn small_pages() -> Figures {
    vec![
        ("wall_seconds", 4.21),
        ("user_seconds", 3.61),
        ("system_seconds", 0.58),
        ("minor_faults_total", 51_200.0),
        ("major_faults_total", 0.0),
        ("peak_rss_bytes", 812.0 * 1_048_576.0),
        ("huge_anon_peak_bytes", 0.0),
        ("thp_fault_alloc_total", 0.0),
        ("thp_fault_fallback_total", 0.0),
        ("thp_collapse_alloc_total", 0.0),
        ("thp_split_pmd_total", 0.0),
        ("compact_stall_total", 0.0),
        ("huge_zero_exit_bytes", 0.0),
    ]
}

/// The figures of `sort -n` if pages are huge.
pub fn huge_pages() -> Figures {
    with(
        &small_pages(),
        &[
            ("wall_seconds", 3.38),
            ("user_seconds", 3.17),
            ("system_seconds", 0.19),
            ("minor_faults_total", 1_340.0),
            ("peak_rss_bytes", 818.0 * 1_048_576.0),
            ("huge_anon_peak_bytes", 806.0 * 1_048_576.0),
            ("thp_fault_alloc_total", 403.0),
        ],
    )
}

pub fn with(figures: &Figures, other: &[(&'static str, f64)]) -> Figures {
    let mut figures = figures.clone();
    for &(name, value) in other {
        match figures.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => figures.push((name, value)),
        }
    }
    figures
}

/// The same with so many bytes mapped for huge pages, in each trial.
pub fn with_room(mut record: Record, room_bytes: u64) -> Record {
    for trial in &mut record.trials {
        let mut tree = ProcessTree::default();
        tree.largest.advice = Some(Advice {
            room_bytes: Some(room_bytes),
            ..Advice::default()
        });
        trial.read_back.tree = Some(tree);
    }
    record
}

/// A finished record of `rounds` rounds; the times vary by up to 0.6 % from round to round.
pub fn record(arms: &[(Policy, Figures)], rounds: u32) -> Record {
    let plan = plan(arms.iter().map(|(policy, _)| policy.clone()).collect());
    record_of(plan, arms, rounds)
}

/// So many rounds of `malloc=thp` and the same with small pages, in which the policies take these seconds; the noise is in thousandths.
pub fn of_malloc(rounds: u32, [as_is, malloc, alone]: [f64; 3], noise: f64) -> Record {
    let named = |name: &str| name.parse().expect("a policy");
    let arms = [
        (Policy::as_is(), small_pages()),
        (named("malloc=thp"), huge_pages()),
        (named("thp=never,malloc=thp"), small_pages()),
    ];
    let mut record = record(&arms, rounds);
    for trial in &mut record.trials {
        let seconds = match trial.policy.as_str() {
            "as-is" => as_is,
            "malloc=thp" => malloc,
            _ => alone,
        };
        let wobble = f64::from(trial.index * 7 % 11) * noise / 1000.0;
        let wall = Reading::of(seconds * (1.0 + wobble));
        trial.readings.insert("wall_seconds".to_owned(), wall);
    }
    record
}

/// A record of any plan of these arms.
pub fn record_of(plan: Plan, arms: &[(Policy, Figures)], rounds: u32) -> Record {
    let mut trials = Vec::new();
    for round in 0..rounds {
        for slot in plan.round(round, |_| true) {
            let (policy, figures) = &arms[slot.policy];
            let index = u32::try_from(trials.len()).unwrap();
            trials.push(trial(index, round, policy, slot.role, figures));
        }
    }
    let realisations = plan
        .policies
        .iter()
        .map(|policy| (policy.name.clone(), realisation(policy)))
        .collect();
    Record {
        header: Header {
            program: "hugewise 0.1.0".to_owned(),
            made_by: ["hugewise", "run", "--", "sort", "-n", "numbers.txt"]
                .map(str::to_owned)
                .to_vec(),
            created_unix_ms: BEGIN_MS,
            host: host(),
            plan,
            realisations,
            settings_held_by: None,
            stdin_bytes: None,
            verification: None,
        },
        end: Some(End {
            reason: if arms.len() == 1 {
                StopReason::Measured
            } else {
                StopReason::Decided
            },
            ended_unix_ms: BEGIN_MS + 5_000 * trials.len() as u64,
            left_behind: Vec::new(),
        }),
        trials,
        cold: Vec::new(),
        removals: Vec::new(),
        changes_of_means: Vec::new(),
        continuations: Vec::new(),
        inside: None,
        warnings: Vec::new(),
    }
}

fn trial(index: u32, round: u32, policy: &Policy, role: Role, figures: &Figures) -> Trial {
    let mut random = fastrand::Rng::with_seed(u64::from(index) + 1);
    let readings = figures
        .iter()
        .map(|&(name, value)| {
            let wobble = if name.ends_with("_seconds") {
                random.f64() * 0.012 - 0.006
            } else {
                0.0
            };
            let value = (value * (1.0 + wobble) * 1e6).round() / 1e6;
            (name.to_owned(), Reading::of(value))
        })
        .collect();
    Trial {
        index,
        round,
        policy: policy.name.clone(),
        role,
        start: None,
        started_unix_ms: BEGIN_MS + 5_000 * u64::from(index),
        outcome: Outcome::Exited { code: 0 },
        stderr_tail: None,
        readings,
        read_back: ReadBack {
            tracing: None,
            switched: Vec::new(),
            files: BTreeMap::from([(
                "sys/kernel/mm/transparent_hugepage/enabled".to_owned(),
                match policy.settings.thp {
                    Some(Thp::Always) => "always",
                    _ => "madvise",
                }
                .to_owned(),
            )]),
            thp_disable: Some(match policy.settings.thp {
                Some(Thp::Never) => ThpDisable::Disabled,
                _ => ThpDisable::Off,
            }),
            allocator: None,
            library: None,
            runtimes: BTreeMap::new(),
            tree: None,
            cgroup: None,
            numa: None,
            tmpfs: None,
            file_cache: None,
        },
        marks: Vec::new(),
        pacing: None,
        timeline: None,
        failure_ignored: false,
        outlived: 0,
        first_touch: None,
    }
}

/// Replaces a metric by a missing reading with a reason in every trial.
pub fn take_away(record: &mut Record, metrics: &[&str], missing: &Missing) {
    for trial in &mut record.trials {
        for metric in metrics {
            trial
                .readings
                .insert((*metric).to_owned(), Reading::missing(missing.clone()));
        }
    }
}

pub fn mark(record: &mut Record, index: usize, mark: Mark) {
    record.trials[index].marks.push(mark);
}

/// The median of a metric under a policy.
pub fn median(record: &Record, policy: &str, metric: &str) -> Option<f64> {
    let mut values: Vec<f64> = record
        .trials
        .iter()
        .filter(|trial| trial.policy == policy && trial.role == Role::Arm && trial.succeeded())
        .filter_map(|trial| trial.value(metric))
        .collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// A comparison with the baseline whose interval is the ratio of the medians × (1 ± `half`).
pub fn comparison(record: &Record, metric: &str, policy: &str, half: f64) -> Comparison {
    let baseline = &record.header.plan.baseline;
    let before = median(record, baseline, metric);
    let after = median(record, policy, metric);
    let exact = !metric.ends_with("_seconds");
    let mut comparison = Comparison {
        metric: metric.to_owned(),
        statistic: Statistic::Center,
        policy: policy.to_owned(),
        baseline: baseline.clone(),
        baseline_value: before,
        policy_value: after,
        scale: Scale::Ratio,
        ratio: None,
        difference: None,
        low: None,
        high: None,
        p: None,
        n: rounds(record),
        change: Change::CannotTell,
        warnings: Vec::new(),
    };
    let (Some(before), Some(after)) = (before, after) else {
        return comparison;
    };
    if before == 0.0 || after == 0.0 {
        comparison.scale = Scale::Difference;
        comparison.difference = Some(after - before);
        comparison.low = Some(after - before);
        comparison.high = Some(after - before);
        comparison.change = sign(after - before, 0.0, 0.0);
        return comparison;
    }
    let ratio = after / before;
    let half = if exact { 0.0 } else { half };
    comparison.ratio = Some(ratio);
    comparison.low = Some(ratio * (1.0 - half));
    comparison.high = Some(ratio * (1.0 + half));
    comparison.p = (!exact).then_some(0.000_49);
    comparison.change = sign(ratio - 1.0, half * ratio, 0.01);
    comparison
}

fn sign(effect: f64, half: f64, threshold: f64) -> Change {
    if effect - half > threshold {
        Change::Higher
    } else if effect + half < -threshold {
        Change::Lower
    } else if effect - half >= -threshold && effect + half <= threshold {
        Change::NoDifference
    } else {
        Change::CannotTell
    }
}

fn rounds(record: &Record) -> u32 {
    record
        .trials
        .iter()
        .map(|trial| trial.round + 1)
        .max()
        .unwrap_or(0)
}

/// The handmade table of a record: `half` is the half-width of every interval of a time, as a share.
pub fn table(record: &Record, half: f64) -> Table {
    let plan = &record.header.plan;
    let policies: Vec<&Policy> = plan
        .policies
        .iter()
        .filter(|policy| policy.name != plan.baseline)
        .collect();
    let metrics: Vec<&str> = hugewise_experiment::run::metric::METRICS
        .iter()
        .map(|metric| metric.name.as_ref())
        .filter(|name| record.trials.iter().any(|t| t.readings.contains_key(name)))
        .collect();
    let comparisons: Vec<Comparison> = metrics
        .iter()
        .flat_map(|metric| {
            policies
                .iter()
                .map(|policy| comparison(record, metric, &policy.name, half))
        })
        .collect();
    let answers: BTreeMap<String, PolicyAnswer> = comparisons
        .iter()
        .filter(|comparison| comparison.metric == "wall_seconds")
        .map(|comparison| (comparison.policy.clone(), answer(comparison.change)))
        .collect();
    let best = best(record, &comparisons, &answers);
    Table {
        pages_alone: Vec::new(),
        control: (plan.policies.len() > 1).then(|| control(record, half)),
        interactions: Vec::new(),
        verdict: Verdict {
            metric: "wall_seconds".to_owned(),
            baseline: plan.baseline.clone(),
            threshold: plan.bounds.threshold,
            policies: answers,
            best,
            ..Verdict::default()
        },
        comparisons,
    }
}

/// The comparison of every policy of the second record with the same policy of the first.
pub fn table_between(first: &Record, second: &Record) -> Table {
    let names = first
        .header
        .plan
        .policies
        .iter()
        .map(|policy| policy.name.clone());
    let comparisons: Vec<Comparison> = names
        .map(|policy| {
            let before = median(first, &policy, "wall_seconds").unwrap();
            let after = median(second, &policy, "wall_seconds").unwrap();
            let ratio = after / before;
            Comparison {
                ratio: Some(ratio),
                low: Some(ratio - 0.006),
                high: Some(ratio + 0.006),
                policy_value: Some(after),
                change: sign(ratio - 1.0, 0.006, 0.01),
                ..comparison_of_itself(first, &policy, Some(before))
            }
        })
        .collect();
    let answers = comparisons
        .iter()
        .map(|comparison| (comparison.policy.clone(), answer(comparison.change)))
        .collect();
    Table {
        pages_alone: Vec::new(),
        comparisons,
        control: None,
        interactions: Vec::new(),
        verdict: Verdict {
            metric: "wall_seconds".to_owned(),
            baseline: second.header.plan.baseline.clone(),
            threshold: second.header.plan.bounds.threshold,
            policies: answers,
            ..Verdict::default()
        },
    }
}

fn answer(change: Change) -> PolicyAnswer {
    match change {
        Change::Higher => PolicyAnswer::Worse,
        Change::Lower => PolicyAnswer::Better,
        Change::NoDifference => PolicyAnswer::NoDifference,
        Change::CannotTell => PolicyAnswer::NotDecided,
    }
}

fn best(
    record: &Record,
    comparisons: &[Comparison],
    answers: &BTreeMap<String, PolicyAnswer>,
) -> Option<String> {
    if answers.is_empty() {
        return None;
    }
    comparisons
        .iter()
        .filter(|c| c.metric == "wall_seconds" && answers[&c.policy] == PolicyAnswer::Better)
        .min_by(|a, b| f64::total_cmp(&a.ratio.unwrap(), &b.ratio.unwrap()))
        .map(|comparison| comparison.policy.clone())
        .or_else(|| Some(record.header.plan.baseline.clone()))
}

pub fn control(record: &Record, half: f64) -> Control {
    let baseline = record.header.plan.baseline.clone();
    let value = median(record, &baseline, "wall_seconds");
    Control {
        comparison: Comparison {
            ratio: Some(1.0012),
            low: Some(1.0012 - half),
            high: Some(1.0012 + half),
            change: Change::NoDifference,
            p: Some(0.62),
            ..comparison_of_itself(record, &baseline, value)
        },
    }
}

fn comparison_of_itself(record: &Record, baseline: &str, value: Option<f64>) -> Comparison {
    Comparison {
        metric: "wall_seconds".to_owned(),
        statistic: Statistic::Center,
        policy: baseline.to_owned(),
        baseline: baseline.to_owned(),
        baseline_value: value,
        policy_value: value,
        scale: Scale::Ratio,
        ratio: None,
        difference: None,
        low: None,
        high: None,
        p: None,
        n: rounds(record),
        change: Change::CannotTell,
        warnings: Vec::new(),
    }
}

/// `sort -n` on the unmodified machine (madvise), with no and with all huge pages: a clear win.
pub fn clear_win() -> Record {
    record(
        &[
            (Policy::as_is(), small_pages()),
            (
                thp("thp=never", Thp::Never),
                with(&small_pages(), &[("wall_seconds", 4.215)]),
            ),
            (thp("thp=always", Thp::Always), huge_pages()),
        ],
        12,
    )
}

/// A server under load whose starts differ by more than the effect, and periods inside three of its six starts that
/// show 10 % more work with huge pages.
pub fn inside_server() -> Record {
    let plan = Plan {
        command: vec!["redis-server --port {port}".to_owned()],
        shell: true,
        service: Some(Service {
            ready: "tcp:{port}".parse().expect("good"),
            ready_timeout: Duration::from_secs(60),
            warm_up_load: None,
            load: CommandLine::Line("redis-benchmark -p {port}".to_owned()),
            load_policy: LoadPolicy::None,
            stop_signal: StopSignal::default(),
            stop_command: None,
            grace: Duration::from_secs(10),
            service_cpus: None,
            load_cpus: None,
            interleave: Interleave::Windows(Windows {
                rounds_per_start: 2,
                required: false,
            }),
        }),
        ..plan(vec![Policy::as_is(), thp("thp=always", Thp::Always)])
    };
    let wall = [("wall_seconds", 4.05)];
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), with(&huge_pages(), &wall)),
    ];
    let mut record = record_of(plan, &arms, 12);
    for trial in &mut record.trials {
        let start = trial.round / 2;
        trial.start = Some(start);
        let wobble = [0.93, 1.08, 0.96, 1.05, 1.02, 0.95][start as usize];
        let is_huge = trial.policy == "thp=always";
        if let Some(Reading::Value { value }) = trial.readings.get("wall_seconds").cloned() {
            let wobble = if is_huge { wobble } else { 1.0 };
            let wall = Reading::of((value * wobble * 1e6).round() / 1e6);
            trial.readings.insert("wall_seconds".to_owned(), wall);
        }
    }
    record.begin_inside(Inside {
        plan: periods_plan(),
    });
    let periods = periods();
    let inside = record.inside.as_mut().expect("it has begun");
    periods.into_iter().for_each(|period| inside.push(period));
    record
}

/// The plan of periods in the starts of a server with 440 MiB.
fn periods_plan() -> Plan {
    Plan {
        command: vec!["redis-server --port {port}".to_owned()],
        shell: true,
        bounds: Bounds {
            threshold: 0.01,
            precision: None,
            warmup_rounds: 0,
            min_rounds: 1,
            max_rounds: 400,
            max_time: Some(Duration::from_secs(10)),
            least_rounds: None,
        },
        verdict_metric: "cpu_work_per_second".to_owned(),
        judge_by: JudgeBy::Typical,
        blocks: Blocks::Even,
        live: Some(Live {
            pids: Vec::new(),
            cgroup: None,
            work: Work {
                source: "redis:{port}".to_owned(),
                unit: "commands".to_owned(),
            },
            latency: None,
            period_seconds: 0.5,
            settle_seconds: 0.1,
            huge_page_bytes: 2 << 20,
            blocks: 220,
            found_huge: 0,
            left_out: 0,
            skipped: vec![Skipped {
                why: Skip::NotPresent,
                blocks: 12,
            }],
            max_stall_seconds: 0.001,
        }),
        ..plan(live_policies().to_vec())
    }
}

/// Nine rounds of them, three in each of three starts.
fn periods() -> Vec<Trial> {
    let switched = 440.0 * 1_048_576.0;
    let small = vec![
        ("cpu_work_per_second", 150_000.0),
        ("work_per_second", 90_000.0),
        ("processor_use_ratio", 0.6),
        ("minor_faults_per_second", 0.0),
        ("resident_bytes", 480.0 * 1_048_576.0),
        ("switched_bytes", switched),
        ("huge_anon_peak_bytes", 0.0),
        ("huge_anon_begin_bytes", 0.0),
        ("huge_anon_end_bytes", 0.0),
        ("switch_seconds", 0.04),
        ("longest_call_seconds", 0.0009),
        ("sham_total", 0.0),
    ];
    let huge = with(
        &small,
        &[
            ("cpu_work_per_second", 165_000.0),
            ("work_per_second", 99_000.0),
            ("huge_anon_peak_bytes", switched),
            ("huge_anon_begin_bytes", switched),
            ("huge_anon_end_bytes", switched),
            ("switch_seconds", 0.16),
        ],
    );
    let [small_policy, huge_policy] = live_policies();
    let arms = [(small_policy, small), (huge_policy, huge)];
    let mut trials = record_of(periods_plan(), &arms, 9).trials;
    for trial in &mut trials {
        trial.start = Some(2 * (trial.round / 3));
        for name in ["cpu_work_per_second", "work_per_second"] {
            if let Some(Reading::Value { value }) = trial.readings.get(name).cloned() {
                let wobble = f64::from(trial.index * 7 % 11) * 0.002;
                let wobbled = Reading::of((value * (1.0 + wobble)).round());
                trial.readings.insert(name.to_owned(), wobbled);
            }
        }
    }
    trials
}
