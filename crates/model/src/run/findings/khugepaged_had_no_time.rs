//! Claims that a run was too short for khugepaged to make its memory huge.
//!
//! Evidence: the policy allows huge pages, less than half of anonymous memory was huge, nothing was
//! collapsed, and khugepaged, which scans `pages_to_scan` pages and then sleeps
//! `scan_sleep_millisecs`, could not have passed over it in the time of the run.
//! Refuted when coverage stays low in a run that is long enough. Next: MADV_COLLAPSE, or a
//! policy with another khugepaged setting.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::base::units::MIB;
use crate::run::metric::MetricId;
use crate::text::number::{percent, three_digits};

/// See the module.
#[derive(Debug)]
pub(super) struct KhugepagedHadNoTime;

impl Rule for KhugepagedHadNoTime {
    fn id(&self) -> &'static str {
        "khugepaged-had-no-time"
    }

    fn explain(&self) -> &'static str {
        "Claims that the run was too short for khugepaged, so that only faults could make huge \
         pages and a longer run may come out otherwise. Evidence: huge pages are allowed, less than \
         half of anonymous memory was huge, nothing was collapsed, and the pace that pages_to_scan and \
         scan_sleep_millisecs allow needs longer for it than the run took. Refuted \
         when coverage stays low in a long run. Next: madvise(MADV_COLLAPSE) in the program, or a policy with \
         khugepaged.scan_sleep_millisecs."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_all(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let (Some(pace), Ok((kind, peak)), true) = (pace(look), candidates(look), allowed(look)) else {
        return Ok(Said::Nothing);
    };
    let seen = look.here(MetricId::HugeAnonPeakBytes)?;
    let huge_page = look.ground.host().pmd_bytes().unwrap_or(u64::MAX) as f64;
    // What lived between two samples was still counted when it was made, perhaps by others.
    let made = look.here(MetricId::ThpFaultAllocTotal).unwrap_or(0.0) * huge_page;
    if peak < huge_page
        || seen.max(made) * 2.0 >= peak
        || look.here(MetricId::ThpCollapseAllocTotal)? > 0.0
    {
        return Ok(Said::Nothing);
    }
    let ran = look.here(MetricId::WallSeconds)?;
    let needed = peak / pace;
    look.evidence.figure("khugepaged_bytes_per_second", pace);
    look.evidence.figure("khugepaged_seconds_needed", needed);
    let part = match seen {
        0.0 => "nothing".to_owned(),
        _ => format!("{} %", percent(seen / peak)),
    };
    let lead = format!(
        "{}: {} of {}{kind} was huge, and nothing was collapsed: khugepaged passes over at most {} MiB/s here",
        look.policy,
        part,
        told(MetricId::PeakRssBytes, peak),
        three_digits(pace / MIB as f64)
    );
    Ok(if needed > ran {
        Said::Shown(format!(
            "{lead} and would need at least {}; the {} ran {}",
            long_time(needed),
            look.ground.runner(),
            told(MetricId::WallSeconds, ran)
        ))
    } else {
        Said::NotShown(format!("{lead}, and may have had the time"))
    })
}

/// What khugepaged may take at most: anonymous memory, because shared memory and files have
/// settings of their own; all that was resident where that was not read.
fn candidates(look: &mut Look<'_, '_>) -> Result<(&'static str, f64), Absent> {
    let all = look.here(MetricId::PeakRssBytes)?;
    Ok(match look.here(MetricId::AnonPeakBytes) {
        Ok(anonymous) if anonymous < all => (" of anonymous memory", anonymous),
        _ => ("", all),
    })
}

/// Whether khugepaged may take memory that was not advised.
fn allowed(look: &Look<'_, '_>) -> bool {
    look.ground.mode(look.policy) == "always"
}

/// Bytes a second that khugepaged passes over at most; `None` when it need not sleep or its
/// settings are not known.
fn pace(look: &Look<'_, '_>) -> Option<f64> {
    let own = look.ground.settings(look.policy).khugepaged;
    let host = look.ground.host();
    let machine = &host.thp.as_ref().ok()?.khugepaged;
    let setting = |name: &str| own.get(name).or_else(|| machine.get(name)).copied();
    let pages = setting("pages_to_scan")?;
    let sleep = setting("scan_sleep_millisecs").filter(|&sleep| sleep > 0)?;
    Some(pages as f64 * host.page_bytes as f64 * 1e3 / sleep as f64)
}

fn long_time(seconds: f64) -> String {
    if seconds < 120.0 {
        told(MetricId::WallSeconds, seconds)
    } else {
        format!("{} min", three_digits(seconds / 60.0))
    }
}
