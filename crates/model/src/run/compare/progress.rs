//! The running experiment: which policies have their answer, and whether it may stop.

use crate::run::compare::decision::is_within_reach;
use crate::run::compare::effect::Effect;
use crate::run::compare::{Answer, CompareError, Judged};
use crate::run::record::{DropReason, Dropout, Record, StopReason};

/// How far an experiment has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Rounds in which every trial has run.
    pub rounds: u32,
    /// Why no further round is needed.
    pub stop: Option<StopReason>,
    /// The policies that need not run in the next round.
    pub drops: Vec<Dropout>,
    /// Each policy other than the baseline, in the order of the plan.
    pub policies: Vec<Running>,
}

/// One policy on the progress line.
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
}

/// Fewer rounds foretell nothing.
const FORETELLING: u32 = 8;

/// Says which policies have their answer after the rounds that `record` holds, and whether the
/// experiment may stop. It may be asked after every round, and what it says may be acted on.
/// `rounds_left` is how many more rounds there is time for.
///
/// A single policy has nothing to decide: it ends after `min_rounds`.
///
/// # Errors
/// When the plan names a baseline or a metric that does not exist.
pub fn progress(record: &Record, rounds_left: u32) -> Result<Progress, CompareError> {
    let judged = Judged::as_planned(record)?;
    let bounds = &record.header.plan.bounds;
    let rounds = judged.rounds.whole;
    let evidence = judged.evidence();
    let (mut policies, mut drops) = (Vec::new(), Vec::new());
    for row in judged.deciding_rows() {
        let judgement = evidence.judge(&row);
        let may_drop = record.is_run(&row.policy, rounds) && rounds >= bounds.min_rounds;
        let why = if judgement.is_settled {
            Some(DropReason::Decided)
        } else {
            let hopeless = rounds >= FORETELLING
                && judgement.answer == Answer::NotDecided
                && judgement.reason.is_none()
                && !is_within_reach(&evidence.draws(&row.policy), judged.question(), rounds_left);
            hopeless.then_some(DropReason::OutOfReach)
        };
        drops.extend(why.filter(|_| may_drop).map(|why| Dropout {
            round: rounds,
            policy: row.policy.clone(),
            why,
        }));
        policies.push(Running {
            estimate: row.ratio.or(row.difference),
            low: row.low,
            high: row.high,
            answer: judgement.answer,
            policy: row.policy,
        });
    }
    let stop = match policies.len() {
        0 => (rounds >= bounds.min_rounds.max(1)).then_some(StopReason::Measured),
        _ => stop(&judged, rounds, &drops),
    };
    // The cells of a bench are questions of their own, and one decides for all.
    if record.header.plan.bench.is_some() {
        drops.clear();
    }
    Ok(Progress {
        rounds,
        stop,
        drops,
        policies,
    })
}

fn stop(judged: &Judged, rounds: u32, drops: &[Dropout]) -> Option<StopReason> {
    let record = judged.record;
    let bounds = &record.header.plan.bounds;
    let all = || record.drops.iter().chain(drops);
    let policies = record.header.plan.policies.iter();
    let mut others = policies.filter(|policy| policy.name != record.header.plan.baseline);
    if others.all(|policy| all().any(|drop| drop.policy == policy.name)) {
        let open = all().any(|drop| drop.why == DropReason::OutOfReach);
        return Some(match open {
            true => StopReason::OutOfReach,
            false => StopReason::Decided,
        });
    }
    let is_precise = |precision| rounds >= bounds.min_rounds && judged.is_precise(precision);
    if bounds.precision.is_some_and(is_precise) {
        return Some(StopReason::Precise);
    }
    (rounds >= bounds.max_rounds).then_some(StopReason::MaxRounds)
}

impl Judged<'_> {
    /// Whether no interval of the verdict metric is wider than ± `precision`.
    fn is_precise(&self, precision: f64) -> bool {
        let evidence = self.evidence();
        let rows = self.deciding_rows();
        rows.iter().all(|row| {
            Effect::of_draws(&evidence.draws(&row.policy), self.question().claims)
                .and_then(|effect| effect.half_width())
                .is_some_and(|half| half <= precision)
        })
    }
}
