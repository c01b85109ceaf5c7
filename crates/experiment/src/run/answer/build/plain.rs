//! A row of the comparisons as a claim.

use super::Work;
use crate::run::answer::{
    Against, Budget, Call, Claim, Contrast, Covers, Effect, Interval, Needs, When,
};
use crate::run::compare::{Change, Comparison, Scale};
use crate::run::metric::Better;

/// The call for a row as a single claim.
pub(super) fn plain_call(change: Change, better: Better) -> Call {
    match (change, better) {
        (Change::NoDifference, _) => Call::Same,
        (Change::CannotTell, _) => Call::Open(Needs::default()),
        (Change::Higher, Better::Higher) | (Change::Lower, Better::Lower) => Call::Better,
        (Change::Higher, Better::Lower) | (Change::Lower, Better::Higher) => Call::Worse,
        (Change::Higher, Better::Neither) => Call::Higher,
        (Change::Lower, Better::Neither) => Call::Lower,
    }
}

pub(super) fn of_row(
    work: &Work<'_>,
    row: &Comparison,
    budget: Budget,
    covers: Covers,
    call: Call,
) -> Claim {
    let plan = &work.record().header.plan;
    let against = if work.source.other.is_some() {
        Against::OtherRecord
    } else if plan.programs.is_empty() {
        Against::Baseline
    } else {
        Against::Program(row.baseline.clone())
    };
    let size = match row.scale {
        Scale::Ratio => row.ratio,
        Scale::Difference => row.difference,
    };
    Claim {
        contrast: Contrast {
            arm: row.policy.clone(),
            against,
            when: work
                .records_a_side()
                .map_or(When::BackToBack, When::PerRecord),
            metric: row.metric.clone(),
            statistic: row.statistic,
        },
        effect: size.map(|size| effect(row.scale, size)),
        interval: row
            .low
            .zip(row.high)
            .map(|(low, high)| interval(low, high, covers)),
        from: row.baseline_value,
        to: row.policy_value,
        rounds: row.n,
        agreeing: None,
        call,
        budget,
        p: row.p,
        warnings: row.warnings.clone(),
    }
}

pub(super) fn effect(scale: Scale, size: f64) -> Effect {
    match scale {
        Scale::Ratio => Effect::Ratio(size),
        Scale::Difference => Effect::Difference(size),
    }
}

pub(super) fn interval(low: f64, high: f64, covers: Covers) -> Interval {
    Interval { low, high, covers }
}
