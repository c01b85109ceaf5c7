//! Kernel decisions that left small pages: refusals, khugepaged's pace, splits.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{CauseOutcome, Kind, Pair};
use crate::run::compare::Change;
use crate::run::metric::{Counter, MetricId};
use crate::run::policy::realise::Realisation;

/// Huge faults that fell back to small pages, machine-wide.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct HugeAllocationFellBack {
    /// Huge faults that fell back.
    pub refused: f64,
    /// All huge faults.
    pub of: f64,
    /// The ratio of the two.
    pub share: f64,
    /// Those at a memory cgroup's limit.
    pub at_cgroup_limit: Option<f64>,
    /// Free huge pages before the trial.
    pub free_before: Option<f64>,
}

/// The kernel tried to allocate huge pages at faults and failed.
pub(in super::super) fn fell_back(view: &View<'_, '_>) -> Told {
    /// A smaller share of refusals changes no verdict.
    const NOTABLE: f64 = 0.01;

    let read = |metric: MetricId| view.here(metric).ok();
    let (made, refused) = (
        read(MetricId::Counter(Counter::ThpFaultAlloc)),
        read(MetricId::Counter(Counter::ThpFaultFallback)),
    );
    // An arm that allows none has none: all of these belong to other programs.
    let is_asked = view.context.mode(view.arm) != "never";
    let Some((made, refused)) = made.zip(refused).filter(|_| is_asked) else {
        return Ok(None);
    };
    let of = made + refused;
    let found = HugeAllocationFellBack {
        refused,
        of,
        share: refused / of,
        at_cgroup_limit: read(MetricId::Counter(Counter::ThpFaultFallbackCharge)),
        free_before: read(MetricId::FreeHugePagesBeforeTotal),
    };
    let outcome = CauseOutcome::shown_if(found.share >= NOTABLE);
    Ok((of > 0.0).then_some((outcome, Kind::HugeAllocationFellBack(found))))
}

/// The pace of khugepaged compared with a run.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct KhugepagedHadNoTime {
    /// Memory that khugepaged may collapse: anonymous memory, or all if that was not read. In bytes.
    pub memory_bytes: f64,
    /// True for anonymous memory.
    pub is_anonymous: bool,
    /// Huge bytes of it.
    pub huge_bytes: f64,
    /// Largest scan rate, in bytes per second.
    pub bytes_per_second: f64,
    /// Least time that it needs, in seconds.
    pub needed_seconds: f64,
    /// Run time of the program, or of the load of a service, in seconds.
    pub run_seconds: f64,
    /// True if a tracer made the run longer.
    pub is_traced: bool,
}

/// The run was too short for khugepaged to make its memory huge.
pub(in super::super) fn khugepaged(view: &View<'_, '_>) -> Told {
    let read = |metric: MetricId| view.here(metric).ok();
    let is_allowed = view.context.mode(view.arm) == "always";
    let all = read(MetricId::PeakRssBytes).filter(|_| is_allowed);
    let Some((pace, all)) = pace(view).zip(all) else {
        return Ok(None);
    };
    // Shared memory and files have separate settings.
    let anonymous = read(MetricId::AnonPeakBytes).filter(|it| *it < all);
    let memory_bytes = anonymous.unwrap_or(all);
    let huge_bytes = view.here(MetricId::HugeAnonPeakBytes)?;
    let huge_page = view.context.host().pmd_bytes().unwrap_or(u64::MAX) as f64;
    // A page that lived between two samples was still counted when it was created, possibly by another program.
    let made = read(MetricId::Counter(Counter::ThpFaultAlloc)).unwrap_or(0.0) * huge_page;
    let is_mostly_huge = memory_bytes < huge_page || huge_bytes.max(made) * 2.0 >= memory_bytes;
    if is_mostly_huge || view.here(MetricId::Counter(Counter::ThpCollapseAlloc))? > 0.0 {
        return Ok(None);
    }
    let realisation = view.context.record.header.realisations.get(view.arm);
    let found = KhugepagedHadNoTime {
        memory_bytes,
        is_anonymous: anonymous.is_some(),
        huge_bytes,
        bytes_per_second: pace,
        needed_seconds: memory_bytes / pace,
        run_seconds: view.here(MetricId::WallSeconds)?,
        is_traced: realisation.is_some_and(Realisation::is_traced),
    };
    let outcome = CauseOutcome::shown_if(found.needed_seconds > found.run_seconds);
    Ok(Some((outcome, Kind::KhugepagedHadNoTime(found))))
}

/// Returns the largest scan rate of khugepaged in bytes per second; `None` if it never sleeps, or its settings are
/// unknown.
fn pace(view: &View<'_, '_>) -> Option<f64> {
    let setting = |name| view.context.khugepaged(view.arm, name);
    let pages = setting("pages_to_scan")?;
    let sleep = setting("scan_sleep_millisecs").filter(|&sleep| sleep > 0)?;
    let host = view.context.host();
    host.thp.as_ref().ok()?;
    Some(pages as f64 * host.page_bytes as f64 * 1e3 / sleep as f64)
}

/// Memory that a program read before it wrote it.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct ReadFirstZeroPage {
    /// Address space that still maps the huge zero page at exit, in bytes. Reading it is not memory speed.
    pub zero_bytes: f64,
    /// Split huge mappings, machine-wide, if they are enough for half of the faults.
    pub splits: Option<f64>,
}

/// The program read memory before it wrote it, so huge zero pages were mapped.
pub(in super::super) fn zero_page(view: &View<'_, '_>) -> Told {
    let zero = view.here(MetricId::HugeZeroExitBytes);
    let is_mapped = zero.as_ref().is_ok_and(|bytes| *bytes > 0.0);
    let splits = match is_mapped {
        true => None,
        false => many_splits(view).filter(|_| a_write_splits(&view.context.host().kernel)),
    };
    let outcome = match (is_mapped, splits) {
        (true, _) => CauseOutcome::Shown,
        (false, Some(_)) => CauseOutcome::CannotTell,
        (false, None) => return Ok(None),
    };
    let zero_bytes = zero?;
    let found = ReadFirstZeroPage { zero_bytes, splits };
    Ok(Some((outcome, Kind::ReadFirstZeroPage(found))))
}

/// Returns true if a write to the huge zero page leaves small pages, by the release: it did from Linux 5.8 to 6.12
/// (`do_huge_pmd_wp_page`, mm/huge_memory.c). In other releases a split has other causes.
fn a_write_splits(kernel: &str) -> bool {
    let numbers = kernel.split(|c: char| !c.is_ascii_digit());
    let mut numbers = numbers.map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => ((5, 8)..=(6, 12)).contains(&(major, minor)),
        _ => true,
    }
}

/// Returns the splits if they can account for half of the faults: each leaves as many faults as a huge page has small
/// ones.
fn many_splits(view: &View<'_, '_>) -> Option<f64> {
    /// Fewer splits are noise from other programs.
    const FEW: f64 = 8.0;

    let host = view.context.host();
    let pages = host.pmd_bytes().unwrap_or(0) as f64 / host.page_bytes.max(1) as f64;
    let splits = view.here(MetricId::Counter(Counter::ThpSplitPmd)).ok()?;
    let faults = view.here(MetricId::MinorFaultsTotal).ok()?;
    (splits >= FEW && splits * pages * 2.0 >= faults).then_some(splits)
}

/// Memory shared by processes after a fork.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct CopyOnWriteAfterFork {
    /// Anonymous memory that several processes shared at the peak, in bytes.
    pub shared_bytes: f64,
    /// Lower bound of the bytes of it copied by writes.
    pub copied_bytes: Option<f64>,
    /// The same under the baseline.
    pub baseline_copied_bytes: Option<f64>,
    /// Split huge mappings, machine-wide.
    pub splits: Pair,
}

/// Memory shared by processes after a fork was copied by writes, which split its huge pages.
pub(in super::super) fn after_fork(view: &View<'_, '_>) -> Told {
    const COPIED: MetricId = MetricId::ForkCopiedBytes;
    const SPLITS: MetricId = MetricId::Counter(Counter::ThpSplitPmd);

    let huge_page = view.context.host().pmd_bytes().unwrap_or(u64::MAX) as f64;
    // Without shared memory, or a reading of it, the rule does not apply.
    let shared_bytes = view.here(MetricId::ForkSharedPeakBytes).unwrap_or(0.0);
    if shared_bytes < huge_page || view.here(MetricId::HugeAnonPeakBytes)? < huge_page {
        return Ok(None);
    }
    let copied_bytes = view.here(COPIED).ok();
    let found = CopyOnWriteAfterFork {
        shared_bytes,
        copied_bytes,
        baseline_copied_bytes: copied_bytes.and_then(|_| view.there(COPIED).ok()),
        splits: view.both(SPLITS)?,
    };
    let outcome = match view.change(SPLITS) {
        Some(Change::Higher) => CauseOutcome::Shown,
        Some(Change::CannotTell) | None => CauseOutcome::CannotTell,
        Some(Change::NoDifference | Change::Lower) => CauseOutcome::NotShown,
    };
    Ok(Some((outcome, Kind::CopyOnWriteAfterFork(found))))
}
