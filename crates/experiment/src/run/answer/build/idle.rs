//! Claims about runs after idle.

use super::Work;
use super::plain::{of_row, plain_call};
use crate::run::answer::{Against, Budget, Call, Claim, Contrast, Covers, Effect, Needs, When};
use crate::run::compare;
use crate::run::compare::{Statistic, idle_states};
use crate::run::metric::{Better, MetricId};
use crate::run::policy::Policy;
use crate::run::record::COLD_REST;
use crate::run::stats::median;

/// Runs after idle, of every policy that has some.
pub(super) fn after_idle<'a>(work: &'a Work<'_>) -> impl Iterator<Item = Claim> + 'a {
    let record = work.record();
    let is_program = work.asks_about_pages();
    let policies = work.policies().filter(move |_| is_program);
    policies.filter_map(move |policy| {
        let own = record.rested_walls(&policy.name);
        let row = compare::after_idle(record, work.baseline, &policy.name)?;
        let usual = row.baseline_value?;
        let slower = own.iter().filter(|wall| **wall > usual).count();
        let agreeing = match row.ratio {
            Some(ratio) if ratio > 1.0 => slower,
            _ => own.len() - slower,
        };
        let call = plain_call(row.change, Better::Lower);
        let mut claim = of_row(work, &row, Budget::Own, Covers::Verdict, call);
        claim.contrast.when = When::AfterIdle(COLD_REST.as_secs());
        claim.agreeing = Some(agreeing as u32);
        Some(claim)
    })
}

/// Runs after idle by the state of the host memory, if a policy has both states. The states were not randomised, so
/// these rows are no test, and have no interval.
pub(super) fn by_host_memory(work: &Work<'_>) -> Vec<Claim> {
    let is_program = work.asks_about_pages();
    let policies = work.policies().filter(|_| is_program);
    let mixed = policies.filter_map(|policy| {
        let states = idle_states(work.record(), &policy.name).ok()?;
        states.is_mixed().then_some((policy, states))
    });
    let of_policy = mixed.flat_map(|(policy, states)| {
        let cold = on_host_memory(work, policy, (When::AfterIdleCold, &states.cold));
        let warm = on_host_memory(work, policy, (When::AfterIdleWarm, &states.warm));
        cold.into_iter().chain(warm).collect::<Vec<_>>()
    });
    of_policy.collect()
}

/// The runs of a policy after idle with these wall times, against all of the baseline.
fn on_host_memory(
    work: &Work<'_>,
    policy: &Policy,
    (when, walls): (When, &[f64]),
) -> Option<Claim> {
    let baseline = median(&work.record().rested_walls(work.baseline))?;
    let wall = median(walls)?;
    let all = work.record().rested_walls(&policy.name).len();
    Some(Claim {
        contrast: Contrast {
            arm: policy.name.clone(),
            against: Against::Baseline,
            when,
            metric: MetricId::WallSeconds.name().to_owned(),
            statistic: Statistic::Center,
        },
        effect: Some(Effect::Ratio(wall / baseline)),
        interval: None,
        from: Some(baseline),
        to: Some(wall),
        rounds: all as u32,
        agreeing: Some(walls.len() as u32),
        call: Call::Open(Needs::default()),
        budget: Budget::Uncorrected,
        p: None,
        warnings: Vec::new(),
    })
}
