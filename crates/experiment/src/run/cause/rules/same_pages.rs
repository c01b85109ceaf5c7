//! The arm did not change the program's pages, with the reason.

use serde::Serialize;

use super::super::context::{MissingInput, Told, View};
use super::super::facts::{NothingMade, not_reached, pool_bytes, why_nothing};
use super::super::{CauseOutcome, Kind, Pair, coverage};
use crate::base::host::ThpDisable;
use crate::run::compare::PolicyAnswer;
use crate::run::compare::coverage::huge_kinds;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::{Counter, MetricId};
use crate::run::policy::Malloc;
use crate::run::trial::Clash;

/// At or below this share of anonymous memory, the rest of a process dominates.
const MOSTLY_OTHER: f64 = 0.5;

/// An arm with the same pages as the baseline.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct SamePages {
    /// Minor faults in a typical run.
    pub faults: Pair,
    /// Bytes in huge pages at the peak.
    pub huge_bytes: Pair,
    /// Why no page was huge; `None` if the same amount was huge under both.
    #[serde(flatten)]
    pub nothing_huge: Option<NothingHuge>,
}

/// Why no page was huge.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "nothing_huge")]
pub enum NothingHuge {
    /// Pages of another kind were huge, the same amount under both.
    OtherKind {
        /// The metric of this kind.
        metric: String,
        /// Bytes at the peak.
        bytes: Pair,
    },
    /// The kernel has no transparent huge pages.
    NotInKernel,
    /// The largest process used less than one huge page.
    TooSmall {
        /// Its peak memory, in bytes.
        peak_bytes: f64,
        /// The size of a huge page, in bytes.
        huge_page_bytes: u64,
    },
    /// The program did not use the pool of the policy.
    PoolNotAsked {
        /// The pool, in bytes.
        pool_bytes: u64,
    },
    /// A policy that makes memory huge while the program runs made nothing huge.
    NothingMade {
        /// Why.
        reason: NothingMade,
    },
    /// Most memory is shared or file-backed, and follows other settings.
    MostlyShared {
        /// Anonymous memory at the peak, in bytes.
        anon_bytes: f64,
        /// Peak memory of the largest process, in bytes.
        peak_bytes: f64,
        /// `shmem_enabled` of the machine; `None` if it has none.
        shmem_enabled: Option<String>,
    },
    /// The more permissive of the two modes gives huge pages only to advised memory.
    NotAsked {
        /// The arm with this mode.
        mode_of: String,
    },
    /// The mechanism of the policy did not reach the program.
    NotReached {
        /// Why.
        clash: Clash,
    },
    /// Malloc has the setting to advise, but its version skips the heaps of threads.
    ThreadHeaps {
        /// Version of glibc.
        glibc: (u32, u32),
    },
    /// A parent process disabled huge pages for its children (`PR_SET_THP_DISABLE`).
    ParentDisabled,
    /// Both arms disallow them.
    NotAllowed,
    /// Huge faults fell back, or no mapping of the program was eligible.
    FellBack {
        /// Huge faults that fell back, machine-wide.
        faults: f64,
    },
    /// No anonymous mapping was eligible at its first fault: too small, not aligned, grown in small steps, or
    /// forbidden.
    NotEligible,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    if view.context.answer(view.arm) != Some(PolicyAnswer::NoEffect) {
        return Ok(None);
    }
    let huge_bytes = coverage::huge_bytes(view)?;
    let faults = view.both(MetricId::MinorFaultsTotal)?;
    let is_none = huge_bytes.arm == 0.0 && huge_bytes.baseline == 0.0;
    let kind = Kind::SamePages(SamePages {
        faults,
        huge_bytes,
        nothing_huge: is_none.then(|| reason(view)).transpose()?,
    });
    Ok(Some((CauseOutcome::Shown, kind)))
}

fn reason(view: &View<'_, '_>) -> Result<NothingHuge, MissingInput> {
    if let Some((metric, bytes)) = other_kind(view) {
        let metric = metric.to_owned();
        return Ok(NothingHuge::OtherKind { metric, bytes });
    }
    let Some(huge_page_bytes) = view.context.host().pmd_bytes() else {
        return Ok(NothingHuge::NotInKernel);
    };
    let peak = view.both(MetricId::PeakRssBytes)?;
    let peak_bytes = peak.baseline.max(peak.arm);
    let record = view.context.record;
    if record.holds_no_huge_page(peak_bytes, huge_page_bytes) {
        return Ok(NothingHuge::TooSmall {
            peak_bytes,
            huge_page_bytes,
        });
    }
    if let Some(pool_bytes) = pool_bytes(&view.context.settings(view.arm)) {
        return Ok(NothingHuge::PoolNotAsked { pool_bytes });
    }
    if let Some(clash) = not_reached(view.context.record, view.arm) {
        return Ok(NothingHuge::NotReached { clash });
    }
    match why_nothing(view.context.record, view.arm) {
        Some(reason) => Ok(NothingHuge::NothingMade { reason }),
        None => why_none(view),
    }
}

/// Returns the kind with the most huge memory.
fn other_kind<'a>(view: &View<'_, 'a>) -> Option<(&'a str, Pair)> {
    let kinds = huge_kinds(view.context.record).into_iter();
    let read = kinds.filter_map(|metric| Some((metric, view.both(metric).ok()?)));
    let larger = |(_, it): &(_, Pair)| it.arm.max(it.baseline);
    let most = read.max_by(|a, b| larger(a).total_cmp(&larger(b)));
    most.filter(|(_, it)| it.arm > 0.0 || it.baseline > 0.0)
}

/// Returns why none was huge under the more permissive of the two modes: the other gives no more.
fn why_none(view: &View<'_, '_>) -> Result<NothingHuge, MissingInput> {
    let context = view.context;
    let rank = |arm: &&str| match context.mode(arm) {
        "always" => 2,
        "madvise" => 1,
        _ => 0,
    };
    // The last of equal ones.
    let arms = [context.baseline(), view.arm].into_iter();
    let wider = arms.max_by_key(rank).unwrap_or(view.arm);
    let mode = context.mode(wider);
    let shared = mostly_shared(view, wider).filter(|_| matches!(mode, "always" | "madvise"));
    if let Some(shared) = shared {
        return Ok(shared);
    }
    Ok(match mode {
        "always" => match view.median(wider, MetricId::Counter(Counter::ThpFaultFallback))? {
            faults if faults > 0.0 => NothingHuge::FellBack { faults },
            _ => NothingHuge::NotEligible,
        },
        "madvise" => thread_heaps(view).unwrap_or_else(|| NothingHuge::NotAsked {
            mode_of: wider.to_owned(),
        }),
        _ if context.host().thp_disable == ThpDisable::Disabled => NothingHuge::ParentDisabled,
        _ => NothingHuge::NotAllowed,
    })
}

/// Returns the reason if malloc has the setting to advise and the program has threads, whose heaps glibc advises since
/// 2.43.
fn thread_heaps(view: &View<'_, '_>) -> Option<NothingHuge> {
    const FIRST_GLIBC: (u32, u32) = (2, 43);
    let context = view.context;
    let is_told = context.settings(view.arm).malloc == Some(Malloc::Thp);
    let glibc = context.host().glibc.filter(|&it| it < FIRST_GLIBC)?;
    let trees = arm_trials(context.record, view.arm).filter_map(|it| it.read_back.tree.as_ref());
    let mut advice = trees.filter_map(|tree| tree.largest.advice);
    let has_threads = advice.any(|it| it.stack_bytes > 0);
    (is_told && has_threads).then_some(NothingHuge::ThreadHeaps { glibc })
}

/// `enabled` affects only anonymous memory. Older records did not read it.
fn mostly_shared(view: &View<'_, '_>, arm: &str) -> Option<NothingHuge> {
    let peak_bytes = view.median(arm, MetricId::PeakRssBytes).ok()?;
    // It covers the whole tree, so the largest process has no more.
    let anon_bytes = view.median(arm, MetricId::AnonPeakBytes).ok()?;
    let usual = view.median(arm, MetricId::RssMeanBytes).ok()?;
    // Two samples may miss a peak; the rule then claims nothing.
    if anon_bytes > MOSTLY_OTHER * peak_bytes.min(usual) || usual < peak_bytes / 2.0 {
        return None;
    }
    let thp = view.context.host().thp.as_ref().ok()?;
    Some(NothingHuge::MostlyShared {
        anon_bytes,
        peak_bytes,
        shmem_enabled: thp.shmem_enabled.clone(),
    })
}
