//! Claims that a policy changed nothing about the program's pages, and why.
//!
//! Evidence: the verdict (coverage and faults were equal), peak memory, the machine's mode, and
//! the counters of huge faults. `thp_fault_fallback` counts allocations and charges that failed;
//! a mapping that was unfit at its first fault (smaller than a huge page, unaligned, grown in
//! small steps) counts nowhere (do_huge_pmd_anonymous_page, mm/huge_memory.c).
//! Refuted by huge pages of a kind that was not read, above all small folios on kernels without
//! their statistics. Next: /proc/PID/smaps, which has AnonHugePages, THPeligible and the flags of each
//! mapping.

use super::coverage;
use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::base::host::ThpDisable;
use crate::run::compare::Answer;
use crate::run::compare::coverage::huge_kinds;
use crate::run::metric::MetricId;
use crate::text::number::whole;

/// See the module.
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

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    if look.ground.answer(look.policy) != Some(Answer::NoEffect) {
        return Ok(Said::Nothing);
    }
    let reason = reason(look)?;
    Ok(Said::Shown(format!("{}: {reason}", look.policy)))
}

fn reason(look: &mut Look<'_, '_>) -> Result<String, Absent> {
    let covered = coverage::compare(look)?;
    let (before, faults) = look.both(MetricId::MinorFaultsTotal)?;
    if covered.here > 0.0 || covered.there > 0.0 {
        return Ok(covered.told(look.ground.baseline()));
    }
    let verdict = &look.ground.table.verdict;
    let of_another_kind = huge_kinds(look.ground.record).into_iter().any(|kind| {
        let policies = [look.policy, look.ground.baseline()].into_iter();
        let mut bytes = policies.map(|policy| look.ground.medians.get(policy, kind));
        bytes.any(|bytes| bytes.is_ok_and(|bytes| bytes > 0.0))
    });
    if let Some(reason) = verdict.reasons.get(look.policy).filter(|_| of_another_kind) {
        return Ok(reason.clone());
    }
    let why = match too_small(look)? {
        Some(why) => why,
        None => why_none(look)?,
    };
    Ok(format!(
        "no page was huge under either ({} against {} minor faults): {why}",
        whole(faults),
        whole(before)
    ))
}

/// Why none was huge, by the wider of the two modes: what it does not give, the narrower does
/// not either.
fn why_none(look: &mut Look<'_, '_>) -> Result<String, Absent> {
    let ground = look.ground;
    let rank = |policy: &str| match ground.mode(policy) {
        "always" => 2,
        "madvise" => 1,
        _ => 0,
    };
    let baseline = ground.baseline();
    let wider = if rank(baseline) > rank(look.policy) {
        baseline
    } else {
        look.policy
    };
    if matches!(ground.mode(wider), "always" | "madvise")
        && let Some(why) = mostly_no_anonymous_memory(look, wider)
    {
        return Ok(why);
    }
    match ground.mode(wider) {
        "always" => unfit(look, wider),
        "madvise" => Ok(format!(
            "even under {wider} only memory that a program advises may be huge (madvise), and this \
             one advised none that was fit"
        )),
        _ if ground.host().thp_disable == ThpDisable::Disabled => Ok(
            "a parent process had disabled huge pages for its children (PR_SET_THP_DISABLE), and \
             neither policy allows them"
                .to_owned(),
        ),
        _ => Ok("neither allows any".to_owned()),
    }
}

/// A program smaller than one huge page cannot have one.
fn too_small(look: &mut Look<'_, '_>) -> Result<Option<String>, Absent> {
    let Some(huge_page) = look.ground.host().pmd_bytes() else {
        return Ok(Some("this kernel has no transparent huge pages".to_owned()));
    };
    let (there, here) = look.both(MetricId::PeakRssBytes)?;
    let peak = there.max(here);
    look.evidence.figure("huge_page_bytes", huge_page);
    Ok((peak < huge_page as f64).then(|| {
        format!(
            "its largest process never held more than {}, which is less than one huge page ({})",
            told(MetricId::PeakRssBytes, peak),
            told(MetricId::PeakRssBytes, huge_page as f64)
        )
    }))
}

/// At most this share of a process is anonymous where the rest is what matters.
const MOSTLY_OTHER: f64 = 0.5;

/// `enabled` decides over anonymous memory alone. Records of before that was read say nothing.
fn mostly_no_anonymous_memory(look: &mut Look<'_, '_>, policy: &str) -> Option<String> {
    let peak = look.median(policy, MetricId::PeakRssBytes).ok()?;
    // Of the whole tree, so that it is no less than that of the largest process.
    let anonymous = look.median(policy, MetricId::AnonPeakBytes).ok()?;
    let usual = look.median(policy, MetricId::RssMeanBytes).ok()?;
    // A peak that lies between two samples is in neither of the latter: where they missed it,
    // nothing is said.
    if anonymous > MOSTLY_OTHER * peak.min(usual) || usual < peak / 2.0 {
        return None;
    }
    let shared = look.ground.host().thp.as_ref().ok()?;
    let shared = shared.shmem_enabled.as_deref().unwrap_or("not there");
    Some(format!(
        "no more than {} were seen to be anonymous memory, for which these policies decide, of the \
         {} of its largest process; shared memory is huge by shmem_enabled ({shared} here) or from \
         a hugetlb pool, that of files by their file system",
        told(MetricId::AnonPeakBytes, anonymous),
        told(MetricId::PeakRssBytes, peak),
    ))
}

fn unfit(look: &mut Look<'_, '_>, policy: &str) -> Result<String, Absent> {
    let refused = look.median(policy, MetricId::ThpFaultFallbackTotal)?;
    if refused > 0.0 {
        return Ok(format!(
            "under {policy} {} huge faults were refused on the machine for want of a free huge \
             block or by the limit of a cgroup, or no mapping of this program was fit for one",
            told(MetricId::ThpFaultFallbackTotal, refused)
        ));
    }
    Ok(format!(
        "under {policy} the kernel refused none, so no anonymous mapping was fit for one at its \
         first fault (smaller than a huge page, not aligned, grown in small \
         steps, or forbidden by the program)"
    ))
}
