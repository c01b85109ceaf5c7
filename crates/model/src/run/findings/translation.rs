//! Claims that address translation is not the bottleneck, or that it may be, and what the
//! cheapest translation could save at most.
//!
//! Evidence: under the baseline, the share of cycles with a page walk under way, for data and for
//! code. That is an upper bound of what shorter or fewer walks can save: the core computes
//! while a walk is under way, and walks overlap. A rate of misses is no evidence: 48 % of few
//! accesses may be nothing.
//! Refuted by a policy that changes user time by more than the bound. Next: where the walks come
//! from, by sampling their addresses.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::base::missing::Missing;
use crate::run::metric::MetricId;
use crate::text::number::percent;

/// See the module.
#[derive(Debug)]
pub(super) struct Translation;

const DATA: MetricId = MetricId::DataWalkCyclesRatio;
const CODE: MetricId = MetricId::CodeWalkCyclesRatio;

impl Rule for Translation {
    fn id(&self) -> &'static str {
        "translation-bound"
    }

    fn explain(&self) -> &'static str {
        "Claims how much of a program's time cheaper address translation could save at most. \
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
        "under {} at most {} % of cycles had a page walk under way (data {} %, code {} %)",
        look.policy,
        percent(bound),
        percent(data),
        percent(code)
    );
    if bound < threshold {
        return Ok(Said::Shown(format!(
            "address translation is not the bottleneck: {parts}, so cheaper walks cannot save \
             more than that"
        )));
    }
    let side = if code > data {
        ": it is the code more than the data, which huge pages for the heap do not help"
    } else {
        ""
    };
    Ok(Said::Shown(format!(
        "address translation may cost up to {} % of the processor time: {parts}{side}; cheaper walks cannot \
         save more",
        percent(bound)
    )))
}

/// Without cycles of walks their number alone says little, and that is said with it.
fn untold(look: &mut Look<'_, '_>, missing: &Missing) -> Said {
    let why = format!(
        "whether address translation is the bottleneck: the cycles of page walks were not \
         measured: {missing}"
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
        "{why}; there were {} walks for data, {rate:.2} for 1000 instructions",
        told(MetricId::DtlbWalksTotal, walks)
    ))
}
