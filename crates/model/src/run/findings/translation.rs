//! Claims that address translation is not the bottleneck, or that it may be, and what the
//! cheapest translation could save at most.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::base::missing::Missing;
use crate::run::metric::MetricId;
use crate::text::number::percent;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct Translation;

const DATA: MetricId = MetricId::DataWalkCyclesRatio;
const CODE: MetricId = MetricId::CodeWalkCyclesRatio;

impl Rule for Translation {
    fn id(&self) -> &'static str {
        "translation-bound"
    }

    fn explain(&self) -> &'static str {
        "Claims the largest share of CPU time that cheaper address translation could save. \
         Evidence: the share of cycles with a page walk under way under the baseline, for data and \
         for code; the core computes meanwhile, so it is an upper bound, and where it is below the \
         smallest effect of interest, translation is not the bottleneck. A rate of TLB misses is \
         no evidence for either. Refuted by a policy that changes user time by more than the \
         bound with the same instructions. Next: where the walks come from, by sampling their \
         addresses."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_baseline(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let (data, code) = match (view.median_or_missing(DATA), view.median_or_missing(CODE)) {
        (Ok(data), Ok(code)) => (data, code),
        // A record of before there were counters, or an experiment without them.
        (Err(Missing::NotAsked | Missing::TrialFailed | Missing::NotRun), _)
        | (_, Err(Missing::NotAsked | Missing::TrialFailed | Missing::NotRun)) => {
            return Ok(Claim::Nothing);
        }
        (Err(missing), _) | (_, Err(missing)) => return Ok(untold(view, &missing)),
    };
    let (data, code) = (view.noted(DATA, data), view.noted(CODE, code));
    let bound = (data + code).min(1.0);
    view.evidence.figure("walk_cycles_at_most", bound);
    let threshold = view.context.table.verdict.threshold;
    let parts = format!(
        "Under {} at most {} % of cycles had a page walk under way (data {} %, code {} %)",
        view.policy,
        percent(bound),
        percent(data),
        percent(code)
    );
    if bound < threshold {
        return Ok(Claim::Shown(format!(
            "TLB misses are not the bottleneck. {parts}"
        )));
    }
    let side = if code > data {
        "; mostly code, which huge pages for the heap do not help"
    } else {
        ""
    };
    Ok(Claim::Shown(format!(
        "TLB misses cost at most {} % of CPU time. {parts}{side}",
        percent(bound)
    )))
}

/// Without cycles of walks their number alone says little, and that is said with it.
fn untold(view: &mut PolicyView<'_, '_>, missing: &Missing) -> Claim {
    let why = format!(
        "The cost of TLB misses is unknown. The cycles of page walks were not measured: {missing}"
    );
    let counted = (
        view.median_or_missing(MetricId::DtlbWalksTotal),
        view.median_or_missing(MetricId::InstructionsTotal),
    );
    let (Ok(walks), Ok(instructions)) = counted else {
        view.evidence.figure("missing", missing.to_string());
        return Claim::CannotTell(why);
    };
    let walks = view.noted(MetricId::DtlbWalksTotal, walks);
    let instructions = view.noted(MetricId::InstructionsTotal, instructions);
    let rate = if instructions > 0.0 {
        walks / instructions * 1000.0
    } else {
        0.0
    };
    view.evidence.figure("dtlb_walks_per_kinst", rate);
    Claim::CannotTell(format!(
        "{why}; {} data walks, {rate:.2} per 1000 instructions",
        told(MetricId::DtlbWalksTotal, walks)
    ))
}
