//! Claims about starts of servers.

use super::Work;
use super::plain::{interval, plain_call};
use crate::run::answer::{Against, Budget, Call, Claim, Contrast, Covers, Effect, Needs, When};
use crate::run::compare::labels::metric_of;
use crate::run::compare::{Change, Starts, starts};

/// One value a start, of servers that live for several trials.
pub(super) fn per_start(work: &Work<'_>) -> Vec<Claim> {
    if work.source.other.is_some() {
        return Vec::new();
    }
    let verdict = &work.table().verdict;
    let found = starts(work.record(), &verdict.baseline, &verdict.metric);
    let claim = |it: Starts| Claim {
        call: call_of_starts(work, &it),
        interval: Some(match it.interval {
            Some([low, high]) => interval(low, high, Covers::Starts),
            None => interval(it.low, it.high, Covers::Range),
        }),
        contrast: Contrast {
            arm: it.policy,
            against: Against::Baseline,
            when: When::PerStart(it.starts),
            metric: it.metric,
            statistic: it.statistic,
        },
        effect: Some(Effect::Ratio(it.ratio)),
        from: None,
        to: None,
        rounds: it.starts,
        agreeing: Some(it.same_direction),
        budget: Budget::Uncorrected,
        p: None,
        warnings: Vec::new(),
    };
    found.into_iter().map(claim).collect()
}

/// The call for unmeasured starts: the starts are the unit, not their rounds.
fn call_of_starts(work: &Work<'_>, it: &Starts) -> Call {
    let threshold = 1.0 + work.table().verdict.threshold;
    let is_small = |[low, high]: [f64; 2]| low >= 1.0 / threshold && high <= threshold;
    let change = match it.is_shown() {
        _ if it.interval.is_some_and(is_small) => Change::NoDifference,
        true if it.ratio > 1.0 => Change::Higher,
        true => Change::Lower,
        false => Change::CannotTell,
    };
    let better = metric_of(work.record(), &it.metric).better;
    match plain_call(change, better) {
        Call::Open(_) => Call::Open(Needs {
            starts: it.needed,
            ..Needs::default()
        }),
        call => call,
    }
}
