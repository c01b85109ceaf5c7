//! The running experiment: whether it may stop, and what the progress line shows.

use crate::run::compare::effect::Effect;
use crate::run::compare::rounds::Arm;
use crate::run::compare::{Answer, CompareError, Judged};
use crate::run::plan::looks::looks;
use crate::run::record::{Record, StopReason};

/// How far an experiment has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Rounds in which every trial has run.
    pub rounds: u32,
    /// The number of rounds after which the data are looked at next; `None` after the last.
    pub next_look: Option<u32>,
    /// Why no further round is needed. Only ever set at a look, except for a single policy.
    pub stop: Option<StopReason>,
    /// Each policy other than the baseline, in the order of the plan.
    pub policies: Vec<Running>,
}

/// One policy on the progress line. Between looks it is for the eye only: to stop because of
/// what it shows would undo the error that the looks keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    /// Name of the policy.
    pub policy: String,
    /// Ratio or difference of the verdict metric against the baseline.
    pub estimate: Option<f64>,
    /// Lower end of the interval, where the rounds allow one.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// The answer if the experiment ended here.
    pub answer: Answer,
    /// About how many more rounds would settle it.
    pub more_rounds: Option<u32>,
}

/// Says whether the experiment may stop after the rounds that `record` holds. Cheap: only the
/// verdict metric, the control and the coverage are worked out.
///
/// A single policy has nothing to decide: it ends after `min_rounds`.
///
/// # Errors
/// When the plan names a baseline or a metric that does not exist.
pub fn progress(record: &Record) -> Result<Progress, CompareError> {
    let judged = Judged::as_planned(record)?;
    let bounds = &record.header.plan.bounds;
    let rounds = judged.rounds.whole;
    let table = judged.verdict_only();
    let running = table.comparisons.iter().map(|row| Running {
        policy: row.policy.clone(),
        estimate: row.ratio.or(row.difference),
        low: row.low,
        high: row.high,
        answer: table
            .verdict
            .policies
            .get(&row.policy)
            .copied()
            .unwrap_or(Answer::CannotTell),
        more_rounds: row.more_rounds,
    });
    let policies: Vec<Running> = running.collect();
    let stop = match policies.len() {
        0 => (rounds >= bounds.min_rounds.max(1)).then_some(StopReason::Measured),
        _ => stop(&judged, rounds, &policies),
    };
    Ok(Progress {
        rounds,
        next_look: looks(bounds).into_iter().find(|&look| look > rounds),
        stop,
        policies,
    })
}

fn stop(judged: &Judged, rounds: u32, policies: &[Running]) -> Option<StopReason> {
    let bounds = &judged.record.header.plan.bounds;
    if !looks(bounds).contains(&rounds) && rounds < bounds.max_rounds {
        return None;
    }
    if policies
        .iter()
        .all(|policy| policy.answer != Answer::CannotTell)
    {
        return Some(StopReason::Decided);
    }
    if bounds
        .precision
        .is_some_and(|precision| judged.is_precise(policies, precision))
    {
        return Some(StopReason::Precise);
    }
    (rounds >= bounds.max_rounds).then_some(StopReason::MaxRounds)
}

impl Judged<'_> {
    /// Whether no interval of the verdict metric is wider than ± `precision`.
    fn is_precise(&self, policies: &[Running], precision: f64) -> bool {
        policies.iter().all(|policy| {
            let arm = Arm::Policy(&policy.policy);
            let pairs = self
                .rounds
                .pairs(self.metric, Arm::Policy(&self.baseline.name), arm);
            Effect::of_pairs(&pairs.centers(), self.level.alpha())
                .and_then(|effect| effect.half_width())
                .is_some_and(|half| half <= precision)
        })
    }
}
