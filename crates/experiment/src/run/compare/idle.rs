//! Runs after idle, in randomised blocks, tested as rounds are.

use std::collections::BTreeMap;

use crate::run::compare::effect::{Draws, Effect};
use crate::run::compare::rows::Estimate;
use crate::run::compare::{Comparison, Statistic};
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::stats::Draw;

/// Compares the runs of a policy after idle with those of a baseline, by wall time. `None` if either has none.
///
/// Records of earlier versions alternate their runs, one a block. Their order was not randomised, so there is no
/// interval.
#[must_use]
pub fn after_idle(record: &Record, baseline: &str, policy: &str) -> Option<Comparison> {
    let mut blocks: BTreeMap<u32, [Vec<f64>; 2]> = BTreeMap::new();
    for trial in record.cold.iter().filter(|trial| trial.succeeded()) {
        let arm = [policy, baseline].iter().position(|it| *it == trial.policy);
        let wall = trial.value(MetricId::WallSeconds);
        if let Some((arm, wall)) = arm.zip(wall) {
            blocks.entry(trial.round).or_default()[arm].push(wall);
        }
    }
    let all = |arm: usize| -> Vec<f64> { blocks.values().flat_map(|it| it[arm].clone()).collect() };
    let (policies, baselines) = (all(0), all(1));
    let draws = blocks.into_values();
    let draws = draws.filter_map(|[policy, baseline]| Draw::new(policy, baseline));
    let draws: Vec<Draw> = draws.collect();
    let effect = match draws.is_empty() {
        true => Effect::of_sessions(&baselines, &policies)?,
        false => Effect::of_draws(&Draws::of(draws), 1)?,
    };
    let row = Estimate {
        metric: MetricId::WallSeconds.name().to_owned(),
        statistic: Statistic::Center,
        policy: policy.to_owned(),
        baseline: baseline.to_owned(),
        effect: Some(effect),
        n: policies.len() as u32,
        warnings: Vec::new(),
    };
    Some(row.finish(record.header.plan.bounds.threshold))
}
