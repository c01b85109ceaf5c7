//! Claims that a run was too short for khugepaged to make its memory huge.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::base::units::MIB;
use crate::run::metric::MetricId;
use crate::text::number::{percent, three_digits};

/// The rule of this module.
#[derive(Debug)]
pub(super) struct KhugepagedHadNoTime;

impl Rule for KhugepagedHadNoTime {
    fn id(&self) -> &'static str {
        "khugepaged-had-no-time"
    }

    fn explain(&self) -> &'static str {
        "Claims that the run was too short for khugepaged, so that only faults could make huge \
         pages and a longer run may come out otherwise. Evidence: huge pages are allowed, less than \
         half of anonymous memory was huge, nothing was collapsed, and the scan rate that pages_to_scan and \
         scan_sleep_millisecs allow needs longer for it than the run took. Refuted \
         when coverage stays low in a long run. Next: madvise(MADV_COLLAPSE) in the program, or a policy with \
         khugepaged.scan_sleep_millisecs."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_all(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let (Some(pace), Ok((kind, peak)), true) = (pace(view), candidates(view), allowed(view)) else {
        return Ok(Claim::Nothing);
    };
    let seen = view.here(MetricId::HugeAnonPeakBytes)?;
    let huge_page = view.context.host().pmd_bytes().unwrap_or(u64::MAX) as f64;
    // What lived between two samples was still counted when it was made, perhaps by others.
    let made = view.here(MetricId::ThpFaultAllocTotal).unwrap_or(0.0) * huge_page;
    if peak < huge_page
        || seen.max(made) * 2.0 >= peak
        || view.here(MetricId::ThpCollapseAllocTotal)? > 0.0
    {
        return Ok(Claim::Nothing);
    }
    let ran = view.here(MetricId::WallSeconds)?;
    let needed = peak / pace;
    view.evidence.figure("khugepaged_bytes_per_second", pace);
    view.evidence.figure("khugepaged_seconds_needed", needed);
    let part = match seen {
        0.0 => "None".to_owned(),
        _ => format!("{} %", percent(seen / peak)),
    };
    let policy = view.policy;
    let lead = format!(
        "{part} of {}{kind} was huge and khugepaged collapsed nothing; it scans at most {} MiB/s here",
        told(MetricId::PeakRssBytes, peak),
        three_digits(pace / MIB as f64)
    );
    Ok(if needed > ran {
        Claim::Shown(format!(
            "{policy}: khugepaged came too late: it would need at least {}, and the {} took {}. {lead}",
            long_time(needed),
            view.context.runner(),
            told(MetricId::WallSeconds, ran)
        ))
    } else {
        Claim::NotShown(format!("{policy}: khugepaged had time to act. {lead}"))
    })
}

/// What khugepaged may take at most: anonymous memory, because shared memory and files have
/// settings of their own; all that was resident where that was not read.
fn candidates(view: &mut PolicyView<'_, '_>) -> Result<(&'static str, f64), MissingInput> {
    let all = view.here(MetricId::PeakRssBytes)?;
    Ok(match view.here(MetricId::AnonPeakBytes) {
        Ok(anonymous) if anonymous < all => (" of anonymous memory", anonymous),
        _ => ("", all),
    })
}

/// Whether khugepaged may take memory that was not advised.
fn allowed(view: &PolicyView<'_, '_>) -> bool {
    view.context.mode(view.policy) == "always"
}

/// Bytes a second that khugepaged passes over at most; `None` when it need not sleep or its
/// settings are not known.
fn pace(view: &PolicyView<'_, '_>) -> Option<f64> {
    let own = view.context.settings(view.policy).khugepaged;
    let host = view.context.host();
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
