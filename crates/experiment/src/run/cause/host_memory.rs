//! Memory that the hypervisor had taken back: the price of a first touch, slow trials, and runs after idle.

use serde::Serialize;

use super::context::{MissingInput, Told, View};
use super::paired::{PairedRounds, good_trials};
use super::{CauseOutcome, Kind};
use crate::base::units::MIB;
use crate::run::compare::medians::Medians;
use crate::run::compare::{Comparison, after_idle};
use crate::run::metric::{Counter, MetricId};
use crate::run::plan::HostMemory;
use crate::run::record::Record;
use crate::run::trial::{TouchPrice, huge_memory};

/// Memory of a virtual machine that the hypervisor had taken back.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct HostColdMemory {
    /// The hypervisor.
    pub hypervisor: Option<String>,
    /// Bytes in huge pages in a typical run.
    pub huge_bytes: f64,
    /// True if memory was warmed before each trial.
    pub is_warmed: bool,
    /// Kernel time that differs from trial to trial.
    pub uneven: Option<Uneven>,
    /// Runs after idle compared with the baseline's; other comparisons do not include them.
    pub rested: Option<Rested>,
    /// A first touch of a huge page that the host has to back, in seconds.
    pub cold_touch_seconds: Option<f64>,
    /// A touch of a huge page that the host still backs, in seconds.
    pub warm_touch_seconds: Option<f64>,
}

/// The first touch of memory is expensive because the hypervisor had taken it back.
pub(super) fn ask(view: &View<'_, '_>) -> Told {
    let record = view.context.record;
    let Some(huge_bytes) = huge_bytes(record, view.arm) else {
        return Ok(None);
    };
    let uneven = uneven(view, huge_bytes)?;
    let rested = rested(record, view.context.baseline(), view.arm);
    let price = first_touch(record).filter(|_| rested.is_some());
    // The price of a start determines what to set; uneven trials have the same cause.
    let outcome = match (&rested, uneven) {
        (Some(_), _) => CauseOutcome::Shown,
        (None, Some(uneven)) => uneven.outcome,
        (None, None) => return Ok(None),
    };
    let found = HostColdMemory {
        hypervisor: view.context.host().hypervisor.clone(),
        huge_bytes,
        is_warmed: record.header.plan.host_memory == HostMemory::Warm,
        uneven,
        rested,
        cold_touch_seconds: price.map(|price| price.cold_seconds),
        warm_touch_seconds: price.map(|price| price.warm_seconds),
    };
    Ok(Some((outcome, Kind::HostColdMemory(found))))
}

/// Returns the bytes in huge pages; `None` on bare metal, and if there are too few for a price.
fn huge_bytes(record: &Record, arm: &str) -> Option<f64> {
    /// Less memory is not worth a price.
    const LEAST: f64 = 32.0 * MIB as f64;

    let host = &record.header.host;
    host.hypervisor.as_ref()?;
    let page = host.pmd_bytes().unwrap_or(0) as f64;
    let medians = Medians::of(record);
    let bytes = huge_memory(|metric| medians.get(arm, metric).ok(), page)?;
    (bytes >= LEAST).then_some(bytes)
}

/// Returns the cost of cold and warm touches of a huge page; `None` if too few were cold.
fn first_touch(record: &Record) -> Option<TouchPrice> {
    let trials = record.trials.iter().chain(&record.cold);
    TouchPrice::of(trials.filter_map(|trial| trial.first_touch.as_ref()))
}

/// Slow trials of an arm, in which the host probably had to back memory.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Uneven {
    /// Shown, or undecidable because the machine also compacted or reclaimed memory.
    pub outcome: CauseOutcome,
    /// Median kernel time of the fastest quarter of trials, in seconds.
    pub fast_seconds: f64,
    /// Median kernel time of the slowest quarter of trials, in seconds.
    pub slow_seconds: f64,
    /// Additional kernel time of the slow quarter for each huge page, in seconds.
    pub seconds_per_huge_page: Option<f64>,
}

/// Returns slow trials, shown or undecidable; `None` if the trials are even.
fn uneven(view: &View<'_, '_>, huge_bytes: f64) -> Result<Option<Uneven>, MissingInput> {
    /// With a smaller share of huge memory, huge pages do not dominate kernel time.
    const LEAST_SHARE: f64 = 0.5;
    /// The slowest quarter takes this many times as long as the fastest.
    const SPREAD: f64 = 4.0;
    /// The baseline's kernel time counts as steady if it spreads by at most this factor.
    const STEADY: f64 = 2.0;

    let (record, baseline) = (view.context.record, view.context.baseline());
    if view.arm == baseline || huge_bytes < LEAST_SHARE * view.here(MetricId::PeakRssBytes)? {
        return Ok(None);
    }
    let both = quarters(record, baseline).zip(quarters(record, view.arm));
    let both =
        both.filter(|([fast, slow], [low, high])| *high >= SPREAD * low && *slow <= STEADY * fast);
    let Some((_, [fast_seconds, slow_seconds])) = both else {
        return Ok(None);
    };
    let stalls = view.here(MetricId::Counter(Counter::CompactStall))?
        + view.here(MetricId::Counter(Counter::Allocstall))?;
    let page = view.context.host().pmd_bytes();
    let more = slow_seconds - fast_seconds;
    Ok(Some(Uneven {
        outcome: match stalls > 0.0 {
            true => CauseOutcome::CannotTell,
            false => CauseOutcome::Shown,
        },
        fast_seconds,
        slow_seconds,
        seconds_per_huge_page: page.map(|page| more * page as f64 / huge_bytes),
    }))
}

/// Returns the median kernel time of the fastest and of the slowest quarter of successful trials, with at least eight
/// trials.
fn quarters(record: &Record, arm: &str) -> Option<[f64; 2]> {
    let trials = good_trials(record, arm);
    let values = trials.filter_map(|trial| trial.value(MetricId::SystemSeconds));
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let count = values.len();
    (count >= 8).then(|| [values[count / 8], values[count - 1 - count / 8]])
}

/// Runs after idle under an arm, compared with those under the baseline.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Rested {
    /// They were measured. Shares of the baseline: 0.1 is 10 % longer.
    Measured {
        /// How much longer a run takes.
        estimate: f64,
        /// Lower end of the 95 % interval.
        low: f64,
        /// Upper end of the interval.
        high: f64,
        /// Runs of the arm.
        runs: u64,
    },
    /// There is no interval: there are too few runs, or their order was not randomised.
    TooFew {
        /// Runs of the arm.
        runs: u64,
    },
    /// No run was measured; the first touches give an estimate.
    Unmeasured {
        /// How much longer it takes to touch the huge pages, in seconds.
        expected_seconds: f64,
        /// Mean savings on warm memory over rounds, in seconds.
        saved_seconds: f64,
    },
}

impl Rested {
    /// Returns true if a run after idle was shown to take longer.
    #[must_use]
    pub fn is_longer(&self) -> bool {
        matches!(self, Self::Measured { low, .. } if *low > 0.0)
    }

    /// Returns true if a run after idle was shown to take less.
    #[must_use]
    pub fn is_shorter(&self) -> bool {
        matches!(self, Self::Measured { high, .. } if *high < 0.0)
    }

    /// Returns true if an arm is only for back-to-back runs: a run after idle was shown to take longer, or is expected
    /// to. Small pages are also cold then, and pay a part.
    #[must_use]
    pub fn is_for_back_to_back_runs(&self) -> bool {
        match *self {
            Self::Measured { .. } => self.is_longer(),
            Self::TooFew { .. } => false,
            Self::Unmeasured {
                expected_seconds,
                saved_seconds,
            } => saved_seconds > 0.0 && expected_seconds > saved_seconds,
        }
    }
}

/// Returns `None` on bare metal, for a service, and if memory was not warmed before trials.
#[must_use]
pub fn rested(record: &Record, baseline: &str, arm: &str) -> Option<Rested> {
    let plan = &record.header.plan;
    // The load of a service uses a server that started long before.
    let is_asked = plan.host_memory == HostMemory::Warm && plan.service.is_none();
    let huge_bytes = huge_bytes(record, arm).filter(|_| is_asked)?;
    if let Some(row) = after_idle(record, baseline, arm).filter(|_| arm != baseline) {
        return Some(measured(&row));
    }
    let price = first_touch(record)?;
    let pages = huge_bytes / record.header.host.pmd_bytes()? as f64;
    let rounds = PairedRounds::of(record, baseline, arm);
    Some(Rested::Unmeasured {
        expected_seconds: pages * (price.cold_seconds - price.warm_seconds),
        saved_seconds: rounds.change(MetricId::WallSeconds).map_or(0.0, |it| -it),
    })
}

/// Returns the effect of all runs, cold or not. The few pages touched before a trial were the most recently freed, and
/// show little about the rest.
fn measured(row: &Comparison) -> Rested {
    let runs = u64::from(row.n);
    let interval = row.low.zip(row.high);
    match row.ratio.zip(interval) {
        Some((estimate, (low, high))) => Rested::Measured {
            estimate: estimate - 1.0,
            low: low - 1.0,
            high: high - 1.0,
            runs,
        },
        None => Rested::TooFew { runs },
    }
}
