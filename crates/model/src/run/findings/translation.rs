//! Claims that address translation is not the bottleneck, or that it may be, and what the
//! cheapest translation could save at most.

use super::ground::{Absent, Ground, Look, Said, told};
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

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_baseline(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let (data, code) = match (look.median_or_missing(DATA), look.median_or_missing(CODE)) {
        (Ok(data), Ok(code)) => (data, code),
        // A record of before there were counters, or an experiment without them.
        (Err(Missing::NotAsked | Missing::TrialFailed | Missing::NotRun), _)
        | (_, Err(Missing::NotAsked | Missing::TrialFailed | Missing::NotRun)) => {
            return Ok(Said::Nothing);
        }
        (Err(missing), _) | (_, Err(missing)) => return Ok(untold(look, &missing)),
    };
    let (data, code) = (look.noted(DATA, data), look.noted(CODE, code));
    let bound = (data + code).min(1.0);
    look.evidence.figure("walk_cycles_at_most", bound);
    let threshold = look.ground.table.verdict.threshold;
    let parts = format!(
        "Under {} at most {} % of cycles had a page walk under way (data {} %, code {} %)",
        look.policy,
        percent(bound),
        percent(data),
        percent(code)
    );
    if bound < threshold {
        return Ok(Said::Shown(format!(
            "TLB misses are not the bottleneck. {parts}"
        )));
    }
    let side = if code > data {
        "; mostly code, which huge pages for the heap do not help"
    } else {
        ""
    };
    Ok(Said::Shown(format!(
        "TLB misses cost at most {} % of CPU time. {parts}{side}",
        percent(bound)
    )))
}

/// Without cycles of walks their number alone says little, and that is said with it.
fn untold(look: &mut Look<'_, '_>, missing: &Missing) -> Said {
    let why = format!(
        "The cost of TLB misses is unknown. The cycles of page walks were not measured: {missing}"
    );
    let counted = (
        look.median_or_missing(MetricId::DtlbWalksTotal),
        look.median_or_missing(MetricId::InstructionsTotal),
    );
    let (Ok(walks), Ok(instructions)) = counted else {
        look.evidence.figure("missing", missing.to_string());
        return Said::CannotTell(why);
    };
    let walks = look.noted(MetricId::DtlbWalksTotal, walks);
    let instructions = look.noted(MetricId::InstructionsTotal, instructions);
    let rate = if instructions > 0.0 {
        walks / instructions * 1000.0
    } else {
        0.0
    };
    look.evidence.figure("dtlb_walks_per_kinst", rate);
    Said::CannotTell(format!(
        "{why}; {} data walks, {rate:.2} per 1000 instructions",
        told(MetricId::DtlbWalksTotal, walks)
    ))
}
