//! Claims that the first touch of memory is dear because the hypervisor had taken it back: shown
//! by kernel time that differs from trial to trial, or by what touching took where memory was warmed.

use super::context::{Claim, MissingInput, PolicyView, told};
use super::paired::PairedRounds;
use super::rested_runs::{LongerRun, RestedRun, RestedRuns, Touches};
use super::{Context, Finding, Rule};
use crate::base::units::MIB;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::plan::HostMemory;
use crate::run::trial::{TouchPrice, huge_memory};

/// The rule of this module.
#[derive(Debug)]
pub(super) struct HostColdMemory;

/// The slowest quarter takes this many times what the quickest takes.
const SPREAD: f64 = 4.0;
/// The baseline's kernel time may spread by at most this factor to be called steady.
const STEADY: f64 = 2.0;
/// Quarters of fewer trials say nothing.
const LEAST_TRIALS: usize = 8;
/// Fewer huge pages than these are not worth a price.
const LEAST_HUGE_BYTES: f64 = 32.0 * MIB as f64;
/// Where less of the memory is huge, kernel time is not that of huge pages.
const LEAST_SHARE: f64 = 0.5;

impl Rule for HostColdMemory {
    fn id(&self) -> &'static str {
        "host-cold-memory"
    }

    fn explain(&self) -> &'static str {
        "Claims that the first touch of huge pages costs more where the hypervisor had taken memory \
         back. Evidence: a virtual machine; where memory was warmed before each trial \
         (--host-memory warm), what touching a huge page took before and after warming, and \
         runs after a rest, of the policy and of the baseline, which are in no other comparison. Where it was not: most memory is huge; \
         kernel time in the slowest quarter of the trials is at least four times that in the \
         quickest, the baseline's kernel time is steady, and nothing was compacted or reclaimed. \
         Refuted when the same happens on bare metal, or when it goes away with other programs' \
         load. Next: --host-memory warm, or memory that is touched once and kept (a hugetlb pool, \
         no free page reporting, no balloon), which takes the host out of the question."
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_all(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let Some(hypervisor) = view.context.host().hypervisor.clone() else {
        return Ok(Claim::Nothing);
    };
    let huge_bytes = huge_bytes(view);
    if huge_bytes < LEAST_HUGE_BYTES {
        return Ok(Claim::Nothing);
    }
    let spread = spread(view, huge_bytes, &hypervisor)?;
    // What a start costs decides what to set; that trials differ is the same memory of the host.
    Ok(match priced(view, huge_bytes) {
        Claim::Nothing => spread,
        price => price,
    })
}

/// Memory in huge pages. Without its readings the question does not arise; other rules say that they
/// are missing.
fn huge_bytes(view: &mut PolicyView<'_, '_>) -> f64 {
    let page = view.context.host().pmd_bytes().unwrap_or(0) as f64;
    huge_memory(|metric| view.here(metric).ok(), page).unwrap_or(0.0)
}

/// Whether kernel time differs from trial to trial as it does where only some memory is backed.
fn spread(
    view: &mut PolicyView<'_, '_>,
    huge_bytes: f64,
    hypervisor: &str,
) -> Result<Claim, MissingInput> {
    let is_baseline = view.policy == view.context.baseline();
    if is_baseline || huge_bytes < LEAST_SHARE * view.here(MetricId::PeakRssBytes)? {
        return Ok(Claim::Nothing);
    }
    let baseline = quarters(view, view.context.baseline());
    let Some(((steady_low, steady_high), (low, high))) = baseline.zip(quarters(view, view.policy))
    else {
        return Ok(Claim::Nothing);
    };
    if high < SPREAD * low || steady_high > STEADY * steady_low {
        return Ok(Claim::Nothing);
    }
    view.evidence.figure("system_seconds_quick_quarter", low);
    view.evidence.figure("system_seconds_slow_quarter", high);
    let dearer = dearer(view, huge_bytes, high - low);
    let policy = view.policy;
    let lead = format!(
        "Kernel time was {} in the fastest quarter of the trials and {} in the slowest, for the \
         same {} of huge pages{dearer}",
        told(MetricId::SystemSeconds, low),
        told(MetricId::SystemSeconds, high),
        told(MetricId::HugeAnonPeakBytes, huge_bytes)
    );
    let stalls = view.here(MetricId::CompactStallTotal)? + view.here(MetricId::AllocstallTotal)?;
    Ok(if stalls > 0.0 {
        Claim::CannotTell(format!(
            "{policy}: the kernel time of huge pages varies, and the machine also compacted or reclaimed \
             memory. {lead}"
        ))
    } else {
        Claim::Shown(format!(
            "{policy}: in some trials the hypervisor ({hypervisor}) probably had to back memory first. \
             {lead}, without compaction or reclaim; {}",
            advice(view)
        ))
    })
}

fn advice(view: &PolicyView<'_, '_>) -> &'static str {
    match view.context.record.header.plan.host_memory {
        HostMemory::Warm => "this although memory was warmed before each trial",
        _ => "on backed memory expect the fast case (--host-memory warm)",
    }
}

/// What a cold start costs that the comparison of warmed trials leaves out.
fn priced(view: &mut PolicyView<'_, '_>, huge_bytes: f64) -> Claim {
    let record = view.context.record;
    // A load meets a server that started long ago.
    let is_started_for_each = record.header.plan.service.is_none();
    if record.header.plan.host_memory != HostMemory::Warm || !is_started_for_each {
        return Claim::Nothing;
    }
    let touches = record.trials.iter().chain(&record.cold);
    let touches = touches.filter_map(|trial| trial.first_touch.as_ref());
    let price = TouchPrice::of(touches);
    let touched = price.map_or_else(String::new, |price| note_price(view, price));
    let (policy, baseline) = (view.policy, view.context.baseline());
    if let Some(runs) = RestedRuns::of(view) {
        note_runs(view, &runs);
        let (run, medians) = (runs.sentence(baseline), runs.medians(policy, baseline));
        return Claim::Shown(format!(
            "{policy}: {run}; the host takes free memory back.{touched} {medians}"
        ));
    }
    let Some((price, page)) = price.zip(view.context.host().pmd_bytes()) else {
        return Claim::Nothing;
    };
    let expected = huge_bytes / page as f64 * (price.cold_seconds - price.warm_seconds);
    view.evidence.figure(TOUCHES, expected);
    if let Some(change) = PairedRounds::of(view.context, view.policy).change(MetricId::WallSeconds)
    {
        view.evidence.figure(SAVED, -change);
    }
    let touched = touched.trim_end_matches('.');
    Claim::Shown(format!(
        "{policy}: touching its huge pages takes about {} longer after a few seconds of rest, of which small \
         pages pay a part as well; the host takes free memory back.{touched}",
        seconds(expected)
    ))
}

/// ` The first touch of a huge page costs 5.00 ms then, and 200 µs otherwise.`
fn note_price(view: &mut PolicyView<'_, '_>, price: TouchPrice) -> String {
    view.evidence
        .figure("cold_touch_seconds", price.cold_seconds);
    view.evidence
        .figure("warm_touch_seconds", price.warm_seconds);
    format!(
        " The first touch of a huge page costs {} then, and {} otherwise.",
        seconds(price.cold_seconds),
        seconds(price.warm_seconds)
    )
}

const CHANGE: &str = "rested_run_change";
const LOW: &str = "rested_run_change_low";
const HIGH: &str = "rested_run_change_high";
const RUNS: &str = "rested_runs";
const TOUCHES: &str = "cold_touch_expected_seconds";
const SAVED: &str = "saved_on_warm_memory_seconds";

fn note_runs(view: &mut PolicyView<'_, '_>, runs: &RestedRuns) {
    view.evidence.figure(RUNS, runs.count());
    if let Some(longer) = runs.longer() {
        view.evidence.figure(CHANGE, longer.estimate);
        view.evidence.figure(LOW, longer.low);
        view.evidence.figure(HIGH, longer.high);
    }
}

/// A run after a rest, where anything was measured of it.
pub(in crate::run) fn rested_run(findings: &[Finding], policy: &str) -> Option<RestedRun> {
    let finding = Finding::shown(findings, HostColdMemory.id(), policy)?;
    let figure = |name: &str| finding.evidence.get(name)?.as_f64();
    let runs = finding.evidence.get(RUNS);
    let runs = runs.and_then(serde_json::Value::as_u64);
    let longer = || {
        Some(LongerRun {
            estimate: figure(CHANGE)?,
            low: figure(LOW)?,
            high: figure(HIGH)?,
            runs: runs?,
        })
    };
    match longer() {
        Some(longer) => Some(longer.shown()),
        None => {
            let touches = figure(TOUCHES).map(|longer| Touches {
                longer,
                saved: figure(SAVED).unwrap_or(0.0),
            });
            (runs.is_some() || touches.is_some()).then_some(RestedRun::Unmeasured(touches))
        }
    }
}

/// Whether a run after a rest was shown to take longer.
pub(in crate::run) fn is_dear_after_rest(findings: &[Finding], policy: &str) -> bool {
    matches!(rested_run(findings, policy), Some(RestedRun::Longer(..)))
}

/// Whether a policy is to be set for back-to-back runs alone: a run after a rest was shown to take longer, what was measured
/// leaves it open, or what was not is expected to.
pub(in crate::run) fn is_for_back_to_back_runs(findings: &[Finding], policy: &str) -> bool {
    match rested_run(findings, policy) {
        Some(RestedRun::Longer(_) | RestedRun::Open(_)) => true,
        Some(RestedRun::Unmeasured(touches)) => touches.is_some_and(Touches::outweigh),
        Some(RestedRun::Shorter(_)) | None => false,
    }
}

/// Whether the slow trials of a policy are probably those in which the host had to back memory.
pub(in crate::run) fn is_uneven(findings: &[Finding], policy: &str) -> bool {
    let finding = Finding::shown(findings, HostColdMemory.id(), policy);
    finding.is_some_and(|it| it.evidence.contains_key("system_seconds_slow_quarter"))
}

/// What a huge page cost more in the slow quarter.
#[expect(clippy::cast_precision_loss, reason = "page sizes are powers of two")]
fn dearer(view: &mut PolicyView<'_, '_>, huge_bytes: f64, seconds: f64) -> String {
    let Some(page) = view.context.host().pmd_bytes() else {
        return String::new();
    };
    let each = seconds * page as f64 / huge_bytes;
    view.evidence
        .figure("system_seconds_more_for_each_huge_page", each);
    format!(
        " ({} more per huge page)",
        told(MetricId::SystemSeconds, each)
    )
}

/// A time as people read it.
fn seconds(seconds: f64) -> String {
    told(MetricId::WallSeconds, seconds)
}

/// Kernel time in the middle of the quickest and of the slowest quarter of a policy's
/// successful trials.
fn quarters(view: &PolicyView<'_, '_>, policy: &str) -> Option<(f64, f64)> {
    let trials = arm_trials(view.context.record, policy).filter(|trial| trial.succeeded());
    let mut values: Vec<f64> = trials
        .filter_map(|trial| trial.value(MetricId::SystemSeconds))
        .collect();
    values.sort_by(f64::total_cmp);
    let count = values.len();
    (count >= LEAST_TRIALS).then(|| (values[count / 8], values[count - 1 - count / 8]))
}
