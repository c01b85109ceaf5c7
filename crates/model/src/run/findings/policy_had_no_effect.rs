//! Claims that a policy changed nothing about the program's pages, and why.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::coverage;
use super::made_huge::why_nothing;
use super::pool_not_used::pool_bytes;
use super::{Finding, Rule};
use crate::base::host::ThpDisable;
use crate::run::compare::Answer;
use crate::run::compare::coverage::huge_kinds;
use crate::run::metric::MetricId;
use crate::text::number::whole;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct PolicyHadNoEffect;

impl Rule for PolicyHadNoEffect {
    fn id(&self) -> &'static str {
        "policy-had-no-effect"
    }

    fn answers(&self) -> bool {
        true
    }

    fn explain(&self) -> &'static str {
        "Claims that a policy changed nothing about the program's pages, so that a difference in \
         speed between it and the baseline would be noise. Evidence: as many bytes were huge under \
         both, with as many faults; the reason is taken from peak memory, the machine's mode and \
         the counters of huge faults. Refuted by huge pages of a kind that was not read (small \
         folios before Linux 6.12). Next: /proc/PID/smaps has the \
         size, THPeligible and the flags of each mapping."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    if view.context.answer(view.policy) != Some(Answer::NoEffect) {
        return Ok(Claim::Nothing);
    }
    let reason = reason(view)?;
    Ok(Claim::Shown(format!("{}: {reason}", view.policy)))
}

fn reason(view: &mut PolicyView<'_, '_>) -> Result<String, MissingInput> {
    let covered = coverage::compare(view)?;
    let (before, faults) = view.both(MetricId::MinorFaultsTotal)?;
    if covered.here > 0.0 || covered.there > 0.0 {
        return Ok(covered.text(view.policy, view.context.baseline()));
    }
    let verdict = &view.context.table.verdict;
    let of_another_kind = huge_kinds(view.context.record).into_iter().any(|kind| {
        let policies = [view.policy, view.context.baseline()].into_iter();
        let mut bytes = policies.map(|policy| view.context.medians.get(policy, kind));
        bytes.any(|bytes| bytes.is_ok_and(|bytes| bytes > 0.0))
    });
    if let Some(reason) = verdict.reasons.get(view.policy).filter(|_| of_another_kind) {
        return Ok(reason.to_string());
    }
    let why = match too_small(view)? {
        Some(why) => why,
        None if pool_bytes(view).is_some() => "the program asked for none of its pool".to_owned(),
        None => why_none(view)?,
    };
    Ok(format!(
        "no page was huge, because {why}. {} and {} minor faults",
        whole(faults),
        whole(before)
    ))
}

/// Why none was huge, by the wider of the two modes: what it does not give, the narrower does
/// not either.
fn why_none(view: &mut PolicyView<'_, '_>) -> Result<String, MissingInput> {
    let context = view.context;
    if let Some(why) = why_nothing(view) {
        return Ok(why);
    }
    let baseline = context.baseline();
    let wider = if context.rank(baseline) > context.rank(view.policy) {
        baseline
    } else {
        view.policy
    };
    if matches!(context.mode(wider), "always" | "madvise")
        && let Some(why) = mostly_no_anonymous_memory(view, wider)
    {
        return Ok(why);
    }
    match context.mode(wider) {
        "always" => unfit(view, wider),
        "madvise" => Ok(format!(
            "{wider} gives huge pages only to memory that asks for them (MADV_HUGEPAGE), and this program \
             has none that fits"
        )),
        _ if context.host().thp_disable == ThpDisable::Disabled => Ok(
            "a parent process disabled huge pages for its children (PR_SET_THP_DISABLE)".to_owned(),
        ),
        _ => Ok("neither policy allows them".to_owned()),
    }
}

/// A program smaller than one huge page cannot have one.
fn too_small(view: &mut PolicyView<'_, '_>) -> Result<Option<String>, MissingInput> {
    let Some(huge_page) = view.context.host().pmd_bytes() else {
        return Ok(Some("this kernel has no transparent huge pages".to_owned()));
    };
    let (there, here) = view.both(MetricId::PeakRssBytes)?;
    let peak = there.max(here);
    view.evidence.figure("huge_page_bytes", huge_page);
    Ok((peak < huge_page as f64).then(|| {
        format!(
            "its largest process used at most {}, less than one huge page ({})",
            told(MetricId::PeakRssBytes, peak),
            told(MetricId::PeakRssBytes, huge_page as f64)
        )
    }))
}

/// At most this share of a process is anonymous where the rest is what matters.
const MOSTLY_OTHER: f64 = 0.5;

/// `enabled` decides over anonymous memory alone. Records of before that was read say nothing.
fn mostly_no_anonymous_memory(view: &mut PolicyView<'_, '_>, policy: &str) -> Option<String> {
    let peak = view.median(policy, MetricId::PeakRssBytes).ok()?;
    // Of the whole tree, so that it is no less than that of the largest process.
    let anonymous = view.median(policy, MetricId::AnonPeakBytes).ok()?;
    let usual = view.median(policy, MetricId::RssMeanBytes).ok()?;
    // A peak that lies between two samples is in neither of the latter: where they missed it,
    // nothing is said.
    if anonymous > MOSTLY_OTHER * peak.min(usual) || usual < peak / 2.0 {
        return None;
    }
    let shared = view.context.host().thp.as_ref().ok()?;
    let shared = shared.shmem_enabled.as_deref().unwrap_or("not there");
    Some(format!(
        "only {} of the {} of its largest process are anonymous memory; shared memory follows \
         shmem_enabled ({shared}) or a hugetlb pool, file memory its file system",
        told(MetricId::AnonPeakBytes, anonymous),
        told(MetricId::PeakRssBytes, peak),
    ))
}

fn unfit(view: &mut PolicyView<'_, '_>, policy: &str) -> Result<String, MissingInput> {
    let refused = view.median(policy, MetricId::ThpFaultFallbackTotal)?;
    if refused > 0.0 {
        return Ok(format!(
            "under {policy} {} huge faults fell back machine-wide, or no mapping of this program was \
             eligible",
            told(MetricId::ThpFaultFallbackTotal, refused)
        ));
    }
    let reason = "no anonymous mapping was eligible at its first fault (too small, not aligned, grown \
                  in small steps, or forbidden by the program)";
    Ok(reason.to_owned())
}
