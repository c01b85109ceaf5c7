//! Claims that a policy changed nothing about the program's pages, and why.
//!
//! Evidence: the verdict (coverage and faults were equal), peak memory, the machine's mode, and
//! the counters of huge faults. `thp_fault_fallback` counts allocations and charges that failed;
//! a mapping that was unfit at its first fault (smaller than a huge page, unaligned, grown in
//! small steps) counts nowhere (do_huge_pmd_anonymous_page, mm/huge_memory.c).
//! Refuted by huge pages of a kind that was not read, above all small folios on kernels without
//! their statistics. Next: `hugewise inspect`, which has the reason for each range.

use super::coverage;
use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::compare::Answer;
use crate::host::ThpDisable;
use crate::policy::Thp;

/// See the module.
#[derive(Debug)]
pub(super) struct PolicyHadNoEffect;

impl Rule for PolicyHadNoEffect {
    fn id(&self) -> &'static str {
        "policy-had-no-effect"
    }

    fn explain(&self) -> &'static str {
        "Claims that a policy changed nothing about the program's pages, so that a difference in \
         speed between it and the baseline would be noise. Evidence: as many bytes were huge under \
         both, with as many faults; the reason is taken from peak memory, the machine's mode and \
         the counters of huge faults. Refuted by huge pages of a kind that was not read (small \
         folios before Linux 6.12). Next: `hugewise inspect PID` gives the reason for each range."
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
    if covered.here > 0.0 || covered.there > 0.0 {
        return Ok(format!(
            "{} were huge under it and {} under {}",
            told("huge_anon_peak_bytes", covered.here),
            told("huge_anon_peak_bytes", covered.there),
            look.ground.baseline()
        ));
    }
    if let Some(reason) = too_small(look)? {
        return Ok(reason);
    }
    if look.ground.host().thp_disable == ThpDisable::Disabled
        && look.ground.settings(look.policy).thp.is_none()
    {
        return Ok(
            "a parent process had disabled huge pages for its children (PR_SET_THP_DISABLE), and \
             it leaves that as it is"
                .to_owned(),
        );
    }
    match mode(look).as_deref() {
        Some("always") => unfit(look),
        Some("madvise") => Ok(
            "no page was huge under either: the mode is madvise, and no mapping that the program \
             advised was fit for a huge page, or it advised none"
                .to_owned(),
        ),
        Some(_) => Ok(format!(
            "no page was huge under either: it allows none, and under {} there was none",
            look.ground.baseline()
        )),
        None => Ok("no page was huge under either".to_owned()),
    }
}

/// A program smaller than one huge page cannot have one.
fn too_small(look: &mut Look<'_, '_>) -> Result<Option<String>, Absent> {
    let Some(huge_page) = look.ground.host().pmd_bytes() else {
        return Ok(Some("this kernel has no transparent huge pages".to_owned()));
    };
    let (there, here) = look.both("peak_rss_bytes")?;
    let peak = there.max(here);
    look.evidence.figure("huge_page_bytes", huge_page);
    Ok((peak < huge_page as f64).then(|| {
        format!(
            "its largest process never held more than {}, which is less than one huge page ({})",
            told("peak_rss_bytes", peak),
            told("peak_rss_bytes", huge_page as f64)
        )
    }))
}

/// The mode under this policy.
fn mode(look: &Look<'_, '_>) -> Option<String> {
    let machine = || {
        let thp = look.ground.host().thp.as_ref().ok()?;
        Some(thp.effective_pmd_mode().to_owned())
    };
    match look.ground.settings(look.policy).thp {
        Some(Thp::Never) => Some("never".to_owned()),
        Some(Thp::Madvise) => Some("madvise".to_owned()),
        Some(Thp::Always) => Some("always".to_owned()),
        Some(Thp::Inherit) | None => machine(),
    }
}

fn unfit(look: &mut Look<'_, '_>) -> Result<String, Absent> {
    let refused = look.here("thp_fault_fallback_total")?;
    if refused > 0.0 {
        return Ok(format!(
            "no page was huge under either: the kernel tried, and {} huge faults were refused",
            told("thp_fault_fallback_total", refused)
        ));
    }
    Ok(
        "no page was huge under either, and the kernel refused none: it never tried. No mapping \
         was fit at its first fault: smaller than a huge page, not aligned, or grown in small steps"
            .to_owned(),
    )
}
