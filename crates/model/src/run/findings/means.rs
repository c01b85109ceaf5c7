//! What it costs to reach a policy by a tracer or a preloaded library: the same without advice,
//! against the baseline.

use super::context::{Context, Evidence};
use crate::run::policy::Policy;
use crate::text::ends::percent_ends;
use crate::text::number::percent_change;

/// Above this share of the time, the cost could be taken for an effect of huge pages.
const NOTABLE: f64 = 0.01;

/// The change of the time by a means alone, as ratios to the baseline.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    typical: f64,
    interval: Option<(f64, f64)>,
}

/// What a means costs; nothing is known where no policy has it alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost(Option<Ratio>);

impl Cost {
    /// From the policy that has the means and no advice.
    pub(super) fn of(context: &Context<'_>, is_idle: impl Fn(&Policy) -> bool) -> Self {
        let metric = &context.record.header.plan.verdict_metric;
        let idle = context.policies().iter().find(|policy| is_idle(policy));
        let comparison = idle.and_then(|policy| context.comparison(metric, &policy.name));
        Self(comparison.and_then(|it| {
            Some(Ratio {
                typical: it.ratio?,
                interval: it.low.zip(it.high),
            })
        }))
    }

    pub(super) fn note(self, evidence: &mut Evidence, name: &str) {
        if let Some(ratio) = self.0 {
            evidence.figure(name, ratio.typical);
        }
    }

    /// The claim that a policy was reached by `means`, which is `how`. A cost that counts comes
    /// first; `idle` is the policy that measures it.
    pub(super) fn claim(self, policy: &str, means: &str, how: &str, idle: &str) -> String {
        match self.0 {
            None => format!(
                "{policy}: reached by {how}. What that costs was not measured: add --policy {idle}"
            ),
            Some(ratio) if ratio.is_notable() => format!(
                "{policy}: {means} alone costs {ratio}, which the change includes. Reached by \
                 {how}"
            ),
            Some(ratio) if ratio.is_open() => format!(
                "{policy}: reached by {how}. The change includes what {means} costs: {ratio}"
            ),
            Some(ratio) => format!("{policy}: reached by {how}; that alone costs {ratio}"),
        }
    }
}

impl Ratio {
    fn is_notable(self) -> bool {
        self.interval.is_some_and(|(low, _)| low - 1.0 > NOTABLE)
    }

    fn is_open(self) -> bool {
        let ends = self.interval;
        ends.is_none_or(|(low, high)| low <= 1.0 && high >= 1.0)
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} %", percent_change(self.typical - 1.0))?;
        match self.interval {
            None => Ok(()),
            Some((low, high)) => {
                let [low, high] = percent_ends(low - 1.0, high - 1.0);
                write!(f, " (95 %: {low} to {high} %)")
            }
        }
    }
}
