//! The whole decision on recorded noise: periods of a redis whose pages stayed small, dealt to the two policies by the
//! order of the plan. Whatever the decision claims then is false.

use hugewise_experiment::run::compare::{PolicyAnswer, progress, table};
use hugewise_experiment::run::metric::live::LiveMetric;
use hugewise_experiment::run::plan::{
    Blocks, Bounds, HUGE, JudgeBy, Live, Plan, Work, live_policies,
};
use hugewise_experiment::run::record::{Header, Record};
use hugewise_experiment::run::trial::{Outcome, ReadBack, Reading, Trial};

use crate::sample;

/// Work per processor second of consecutive periods, in their order; a blank line parts two records.
const PERIODS: &str = include_str!("../../../fixtures/live/redis-small-periods.txt");

/// Rounds that a minute has room for.
const ROUNDS: u32 = 12;

fn records() -> Vec<Vec<f64>> {
    let parts = PERIODS.split("\n\n").map(|part| {
        let lines = part
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        lines.map(|line| line.parse().expect("a number")).collect()
    });
    parts.filter(|it: &Vec<f64>| it.len() >= 20).collect()
}

fn plan(seed: u64) -> Plan {
    Plan {
        seed,
        baseline: "small".to_owned(),
        policies: live_policies().to_vec(),
        bounds: Bounds {
            threshold: 0.01,
            precision: None,
            warmup_rounds: 0,
            min_rounds: 1,
            max_rounds: ROUNDS,
            max_time: None,
            least_rounds: None,
        },
        verdict_metric: LiveMetric::CpuWorkPerSecond.name().to_owned(),
        judge_by: JudgeBy::Typical,
        blocks: Blocks::Even,
        live: Some(Live {
            pids: vec![1],
            cgroup: None,
            work: Work {
                source: "redis:6379".to_owned(),
                unit: "commands".to_owned(),
            },
            latency: None,
            period_seconds: 0.6,
            settle_seconds: 0.05,
            huge_page_bytes: 2 << 20,
            blocks: 220,
            found_huge: 0,
            left_out: 0,
            skipped: Vec::new(),
            max_stall_seconds: 0.001,
        }),
        ..sample::plan(live_policies().to_vec())
    }
}

fn trial(
    index: u32,
    round: u32,
    policy: &str,
    role: hugewise_experiment::run::trial::Role,
    value: f64,
) -> Trial {
    let name = LiveMetric::CpuWorkPerSecond.name().to_owned();
    Trial {
        index,
        round,
        policy: policy.to_owned(),
        role,
        start: None,
        started_unix_ms: u64::from(index) * 700,
        outcome: Outcome::Exited { code: 0 },
        failure_ignored: false,
        outlived: 0,
        stderr_tail: None,
        readings: [(name, Reading::of(value))].into_iter().collect(),
        read_back: ReadBack::default(),
        marks: Vec::new(),
        pacing: None,
        timeline: None,
        first_touch: None,
    }
}

/// Runs one experiment on periods that begin at a place drawn by lot; huge pages are worth `effect`. Returns its answer and
/// its rounds.
fn experiment(seed: u64, effect: f64) -> (PolicyAnswer, u32) {
    let records = records();
    let mut random = fastrand::Rng::with_seed(seed);
    let periods = &records[random.usize(..records.len())];
    let mut place = random.usize(..periods.len());
    let plan = plan(seed);
    let mut record = Record::begin(Header {
        plan: plan.clone(),
        ..sample::record(&[(live_policies()[0].clone(), Vec::new())], 0).header
    });
    for round in 0..ROUNDS {
        for slot in plan.round(round, |_| true) {
            let policy = plan.policies[slot.policy].name.as_str();
            let factor = if policy == HUGE { 1.0 + effect } else { 1.0 };
            let value = periods[place % periods.len()] * factor;
            place += 1;
            let index = u32::try_from(record.trials.len()).expect("few");
            record.push(trial(index, round, policy, slot.role, value));
        }
        let so_far = progress(&record, ROUNDS - round - 1).expect("a plan of ours");
        so_far.drops.into_iter().for_each(|it| record.remove(it));
        if so_far.stop.is_some() {
            break;
        }
    }
    let table = table(&record, &Default::default()).expect("a plan of ours");
    let rounds = record.compared_rounds();
    (table.verdict.policies[HUGE], rounds)
}

/// 1000 experiments without an effect: at most 5 % may claim one. With that error 66 or more have a chance of 1 %.
#[test]
fn recorded_noise_is_seldom_called_an_effect() {
    let claims = |seed: &u64| {
        matches!(
            experiment(*seed, 0.0).0,
            PolicyAnswer::Better | PolicyAnswer::Worse
        )
    };
    let false_claims = (0..1000).filter(claims).count();
    assert!(false_claims <= 65, "{false_claims}");
}

/// An effect of 10 % is found in most minutes.
#[test]
fn a_planted_effect_is_found() {
    let found: Vec<(PolicyAnswer, u32)> = (0..200).map(|seed| experiment(seed, 0.1)).collect();
    let better = found
        .iter()
        .filter(|it| it.0 == PolicyAnswer::Better)
        .count();
    let worse = found
        .iter()
        .filter(|it| it.0 == PolicyAnswer::Worse)
        .count();
    assert!(better >= 120 && worse == 0, "{better} {worse}");
}
