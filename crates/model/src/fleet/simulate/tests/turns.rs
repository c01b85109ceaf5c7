//! Arms that take turns: how often one is said to reach into the next.

use super::{ARMS, each, percent, room, share};
use crate::fleet::analyse::{Analysis, Question, Spending, Tally, switchback};
use crate::fleet::assign::assign;
use crate::fleet::plan::{Moment, Plan};
use crate::fleet::simulate::normal;
use crate::fleet::{Row, Sums};
use crate::run::stats::ALPHA;

const HOSTS: usize = 10;
const PAIRS: i64 = 3;
const PERIODS: i64 = 3;
const PERIOD: i64 = 60;
/// As many as an agent writes.
const METRICS: usize = 15;
/// Of these the first are events so rare that most periods have none.
const RARE: usize = 5;
const EFFECT: f64 = 0.1;

fn plan() -> Plan {
    let text = format!(
        "name = 'turns'\nstarts = 0\nuntil = {}\nperiod = '{PERIOD}s'\n\
         switchback = {{turn = '{}s'}}\n\
         [[arm]]\nname = '{}'\npolicy = 'as-is'\n[[arm]]\nname = '{}'\npolicy = 'thp=always'",
        2 * PAIRS * PERIODS * PERIOD,
        PERIODS * PERIOD,
        ARMS[0],
        ARMS[1],
    );
    text.parse().expect("a plan")
}

/// A fleet whose hosts, turns and periods differ, and drift together. In the first period of a turn a
/// share `carried` of the turn before is left.
fn tally(plan: &Plan, carried: f64, seed: u64) -> Tally {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut tally = Tally::new(plan.turns());
    for host in 0..HOSTS {
        // The lot of the arms is in the names.
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
                        phase: crate::fleet::Phase::During,
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

/// Whether the page says of some metric that turns reach into the next.
fn is_said(plan: &Plan, carried: f64, seed: u64) -> bool {
    let question = Question {
        control: ARMS[0].to_owned(),
        metric: None,
        better: std::collections::BTreeMap::new(),
        band: 0.01,
        spending: Spending::equal(1),
        plan: Some(plan.clone()),
    };
    let analysis = Analysis::of(&tally(plan, carried, seed), &question);
    let mut found = analysis.arms[0]
        .metrics
        .iter()
        .filter_map(|it| it.carry_over);
    found.any(|(_, p)| p <= analysis.level)
}

/// The share of metrics whose own p-value says so.
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
    let plan = plan();
    let [none, half] =
        [0.0, 0.5].map(|carried| share(0..100, |seed| is_said(&plan, carried, seed)));
    assert!(none <= ALPHA + room(ALPHA, 100.0), "{none}");
    assert!(half > 0.9, "{half}");
}

#[test]
#[ignore = "takes minutes; CONTRIBUTING.md names it"]
#[expect(
    clippy::disallowed_macros,
    reason = "its figures are what it is run for"
)]
fn a_fifth_of_ten_thousand_switchbacks() {
    const SOME: u64 = 2_000;
    let plan = plan();
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
