//! Arms that take turns: how often carry-over is reported.

use std::ops::Range;

use super::{ARMS, MANY, each, percent, room, share};
use crate::analyse::analysis::Word;
use crate::analyse::detectable_effect::POWER;
use crate::analyse::{Analysis, Question, Spending, Tally, switchback};
use crate::assign::assign;
use crate::plan::{Moment, Plan};
use crate::simulate::normal;
use crate::{Phase, Row, Sums};
use hugewise_experiment::run::stats::ALPHA;

/// A host with random differences between its turns and periods.
struct Host {
    base: f64,
    turn: f64,
    period: f64,
}

impl Host {
    fn new(random: &mut fastrand::Rng) -> Self {
        Self {
            base: 0.2 * normal(random),
            turn: 0.02 + 0.06 * random.f64(),
            period: 0.02 + 0.06 * random.f64(),
        }
    }
}

/// Rows of turns of hosts with a common drift. From the first turn on, a coin decides the order of the arms in each
/// pair.
fn each_turn(
    hosts: &[Host],
    turns: Range<i64>,
    effect: f64,
    random: &mut fastrand::Rng,
    tally: &mut Tally,
) {
    for (at, host) in hosts.iter().enumerate() {
        let mut first = false;
        for turn in turns.clone() {
            let is_first = turn.rem_euclid(2) == 0;
            if is_first {
                first = random.bool();
            }
            let treated = turn >= 0 && first == is_first;
            let own = host.base + host.turn * normal(random) + if treated { effect } else { 0.0 };
            for period in 1..PERIODS {
                let start = (turn * PERIODS + period) * PERIOD;
                let drift = 0.05 * (start as f64 / 400.0).sin();
                let phase = if turn < 0 {
                    Phase::Before
                } else {
                    Phase::During
                };
                let row = Row {
                    start,
                    phase,
                    seconds: PERIOD as f64,
                    sums: Sums::one((own + drift + host.period * normal(random)).exp()),
                    ..super::super::row(at, 0, 1, ARMS[usize::from(treated)])
                };
                tally.add(&row).expect("a row of an agent");
            }
        }
    }
}

const HOSTS: usize = 10;
const PAIRS: i64 = 3;
const PERIODS: i64 = 3;
const PERIOD: i64 = 60;
/// The number of metrics that an agent writes.
const METRICS: usize = 15;
/// The first of these metrics count events so rare that most periods have none.
const RARE: usize = 5;
const EFFECT: f64 = 0.1;

fn plan(pairs: i64) -> Plan {
    let text = format!(
        "name = 'turns'\nstarts = 0\nuntil = {}\nperiod = '{PERIOD}s'\n\
         switchback = {{turn = '{}s'}}\n\
         [[arm]]\nname = '{}'\npolicy = 'as-is'\n[[arm]]\nname = '{}'\npolicy = 'thp=always'",
        2 * pairs * PERIODS * PERIOD,
        PERIODS * PERIOD,
        ARMS[0],
        ARMS[1],
    );
    text.parse().expect("a plan")
}

/// A fleet whose hosts, turns and periods differ, with a common drift. In the first period of a turn, a share `carried`
/// of the previous turn remains.
fn tally(plan: &Plan, carried: f64, seed: u64) -> Tally {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut tally = Tally::new(plan.turns());
    for host in 0..HOSTS {
        // The names determine the arms.
        let name = format!("host-{seed}-{host}");
        let treated: Vec<bool> = (0..2 * PAIRS)
            .map(|turn| {
                let now = Moment(turn * PERIODS * PERIOD);
                assign(plan, &name, now).arm == ARMS[1]
            })
            .collect();
        for metric in 0..METRICS {
            let base = 0.2 * normal(&mut random);
            for (turn, &arm) in treated.iter().enumerate() {
                let own = base + 0.05 * normal(&mut random);
                let before = turn.checked_sub(1).map_or(arm, |turn| treated[turn]);
                for period in 0..PERIODS {
                    let effect = |arm| if arm { EFFECT } else { 0.0 };
                    let left = if period == 0 { carried } else { 0.0 };
                    let effect = effect(arm) + left * (effect(before) - effect(arm));
                    let start = (turn as i64 * PERIODS + period) * PERIOD;
                    let drift = 0.05 * (start as f64 / 400.0).sin();
                    let value = (own + effect + drift + 0.05 * normal(&mut random)).exp();
                    let is_there = metric >= RARE || random.f64() < 0.3;
                    let mean = if is_there { value } else { 0.0 };
                    let row = Row {
                        start,
                        metric: format!("metric_{metric:02}"),
                        sums: Sums::one(mean),
                        phase: Phase::During,
                        ..super::super::row(host, 0, 1, ARMS[usize::from(arm)])
                    };
                    let row = Row {
                        unit: name.clone(),
                        ..row
                    };
                    tally.add(&row).expect("a row of an agent");
                }
            }
        }
    }
    tally
}

fn analysis(plan: &Plan, tally: &Tally) -> Analysis {
    let question = Question {
        control: ARMS[0].to_owned(),
        metric: None,
        better: std::collections::BTreeMap::new(),
        band: 0.0,
        spending: Spending::equal(1),
        plan: Some(plan.clone()),
    };
    Analysis::of(tally, &question)
}

/// Returns true if the report shows carry-over for some metric.
fn is_said(plan: &Plan, carried: f64, seed: u64) -> bool {
    let analysis = analysis(plan, &tally(plan, carried, seed));
    let mut found = analysis.arms[0]
        .metrics
        .iter()
        .filter_map(|it| it.carry_over);
    found.any(|(_, p)| p <= analysis.level)
}

/// The share of metrics with a significant p-value of carry-over.
fn of_metrics(plan: &Plan, of: u64) -> f64 {
    let found = each(0..of, |seed| {
        let tally = tally(plan, 0.0, seed);
        let p = tally
            .metric_names()
            .filter_map(|metric| switchback::pairs(&tally, metric, ARMS, 999)?.carry_over_p);
        p.filter(|p| *p <= ALPHA).count() as f64 / METRICS as f64
    });
    found.iter().sum::<f64>() / of as f64
}

#[test]
fn turns_that_leave_nothing_behind_are_rarely_said_to() {
    let plan = plan(PAIRS);
    let [none, half] = [0.0, 0.5].map(|carried| share(0..60, |seed| is_said(&plan, carried, seed)));
    assert!(none <= ALPHA + room(ALPHA, 60.0), "{none}");
    assert!(half > 0.9, "{half}");
}

/// How often hosts with this many planned pairs of turns find the effect promised from this many pre-period pairs, and
/// how often there is such a promise.
fn as_the_past_promises(hosts: usize, [past, planned]: [i64; 2], seeds: Range<u64>) -> [f64; 2] {
    let plan = plan(planned);
    let found = each(seeds, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let hosts: Vec<Host> = (0..hosts).map(|_| Host::new(&mut random)).collect();
        let mut of = |turns, effect| {
            let mut tally = Tally::new(plan.turns());
            each_turn(&hosts, turns, effect, &mut random, &mut tally);
            let analysis = analysis(&plan, &tally);
            analysis.arms[0].metrics[0].clone()
        };
        let change = of(-2 * past..0, 0.0).detectable?;
        let result = of(0..2 * planned, change.ln_1p());
        Some(result.answer == Word::Worse)
    });
    let of = found.len() as f64;
    let promised: Vec<bool> = found.into_iter().flatten().collect();
    let claimed = promised.iter().filter(|it| **it).count() as f64;
    [claimed / promised.len() as f64, promised.len() as f64 / of]
}

#[test]
fn the_effect_that_past_turns_promise_is_found_as_often_as_they_say() {
    for (hosts, pairs) in [(2, [4, 6]), (10, [1, 3])] {
        let [found, promised] = as_the_past_promises(hosts, pairs, 0..200);
        let away = (found - POWER).abs();
        assert!(
            away <= room(POWER, 200.0),
            "{hosts} hosts, {pairs:?}: {found}"
        );
        assert_eq!(promised, 1.0, "{hosts} hosts, {pairs:?}");
    }
}

/// Six coins give an extreme outcome in 1 of 32 cases: nearly all coins would have to agree.
#[test]
fn few_turns_promise_nothing() {
    assert_eq!(as_the_past_promises(3, [2, 2], 0..20)[1], 0.0);
    assert_eq!(as_the_past_promises(1, [1, 20], 0..20)[1], 0.0);
}

#[test]
#[ignore = "takes minutes; docs/contributing.md names it"]
#[expect(
    clippy::disallowed_macros,
    reason = "its figures are what it is run for"
)]
fn ten_thousand_forecasts_of_turns() {
    for (hosts, [past, planned]) in [
        (2, [4, 4]),
        (2, [4, 10]),
        (10, [1, 3]),
        (10, [3, 3]),
        (10, [1, 10]),
    ] {
        let [found, _] = as_the_past_promises(hosts, [past, planned], 0..MANY.into());
        println!(
            "| {hosts} | {past} | {planned} | {MANY} | {} |",
            percent(found)
        );
        assert!(
            (found - POWER).abs() <= 0.04,
            "{hosts} {past} {planned}: {found}"
        );
    }
}

#[test]
#[ignore = "takes minutes; docs/contributing.md names it"]
#[expect(
    clippy::disallowed_macros,
    reason = "its figures are what it is run for"
)]
fn a_fifth_of_ten_thousand_switchbacks() {
    const SOME: u64 = 2_000;
    let plan = plan(PAIRS);
    let alone = of_metrics(&plan, SOME);
    println!(
        "| carry-over is claimed of one metric where there is none | {SOME} | {} |",
        percent(alone)
    );
    let [none, half] =
        [0.0, 0.5].map(|carried| share(0..SOME, |seed| is_said(&plan, carried, seed)));
    println!(
        "| carry-over is claimed of any of {METRICS} metrics where there is none | {SOME} | {} |",
        percent(none)
    );
    println!(
        "| carry-over of half the effect is found | {SOME} | {} |",
        percent(half)
    );
    assert!(alone <= ALPHA + room(ALPHA, SOME as f64), "{alone}");
    assert!(none <= ALPHA + room(ALPHA, SOME as f64), "{none}");
    assert!(half > 0.9, "{half}");
}
