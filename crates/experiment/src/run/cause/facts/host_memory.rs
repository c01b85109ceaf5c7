//! Memory that the hypervisor had taken back: the price of a first touch, and slow trials.

use serde::Serialize;

use super::super::{MissingInput, Outcome};
use crate::base::missing::Missing;
use crate::base::units::MIB;
use crate::run::compare::medians::{Medians, arm_trials};
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::trial::{TouchPrice, huge_memory};

/// The slowest quarter takes this many times as long as the fastest.
const SPREAD: f64 = 4.0;
/// The baseline's kernel time may spread by at most this factor to be called steady.
const STEADY: f64 = 2.0;
/// Quarters of fewer trials say nothing.
const LEAST_TRIALS: usize = 8;
/// Fewer huge bytes are not worth a price.
const LEAST_HUGE_BYTES: f64 = 32.0 * MIB as f64;
/// With a smaller share of huge memory, kernel time is not that of huge pages.
const LEAST_SHARE: f64 = 0.5;

/// Slow trials of an arm, in which the host probably had to back memory.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Uneven {
    /// Shown, or cannot be told because the machine also compacted or reclaimed memory.
    pub outcome: Outcome,
    /// Kernel time in the middle of the fastest quarter of trials, in seconds.
    pub fast_seconds: f64,
    /// Kernel time in the middle of the slowest quarter of trials, in seconds.
    pub slow_seconds: f64,
    /// Additional kernel time of the slow quarter for each huge page, in seconds.
    pub seconds_per_huge_page: Option<f64>,
}

/// Returns the cost of cold and warm touches of a huge page; `None` when too few were cold.
#[must_use]
pub fn first_touch(record: &Record) -> Option<TouchPrice> {
    let trials = record.trials.iter().chain(&record.cold);
    TouchPrice::of(trials.filter_map(|trial| trial.first_touch.as_ref()))
}

/// Returns slow trials that were shown or cannot be told; `None` when trials are alike.
#[must_use]
pub fn uneven(record: &Record, baseline: &str, arm: &str) -> Option<Uneven> {
    let medians = Medians::of(record);
    let huge_bytes = huge_bytes(record, &medians, arm)?;
    uneven_of(record, &medians, [baseline, arm], huge_bytes).ok()?
}

/// Returns the bytes in huge pages; `None` on bare metal, and when there are too few to ask for a price.
pub(in super::super) fn huge_bytes(
    record: &Record,
    medians: &Medians<'_>,
    arm: &str,
) -> Option<f64> {
    let host = &record.header.host;
    host.hypervisor.as_ref()?;
    let page = host.pmd_bytes().unwrap_or(0) as f64;
    let bytes = huge_memory(|metric| medians.get(arm, metric).ok(), page)?;
    (bytes >= LEAST_HUGE_BYTES).then_some(bytes)
}

/// Returns slow trials of an arm that has so many huge bytes.
pub(in super::super) fn uneven_of(
    record: &Record,
    medians: &Medians<'_>,
    [baseline, arm]: [&str; 2],
    huge_bytes: f64,
) -> Result<Option<Uneven>, MissingInput> {
    let read = |metric: MetricId| {
        medians
            .get(arm, metric)
            .map_err(|reason: Missing| MissingInput {
                metric: metric.name().to_owned(),
                arm: arm.to_owned(),
                reason,
            })
    };
    if arm == baseline || huge_bytes < LEAST_SHARE * read(MetricId::PeakRssBytes)? {
        return Ok(None);
    }
    let both = quarters(record, baseline).zip(quarters(record, arm));
    let Some(((steady_low, steady_high), (low, high))) = both else {
        return Ok(None);
    };
    if high < SPREAD * low || steady_high > STEADY * steady_low {
        return Ok(None);
    }
    let stalls = read(MetricId::CompactStallTotal)? + read(MetricId::AllocstallTotal)?;
    let page = record.header.host.pmd_bytes();
    Ok(Some(Uneven {
        outcome: match stalls > 0.0 {
            true => Outcome::CannotTell,
            false => Outcome::Shown,
        },
        fast_seconds: low,
        slow_seconds: high,
        seconds_per_huge_page: page.map(|page| (high - low) * page as f64 / huge_bytes),
    }))
}

/// Returns kernel time in the middle of the fastest and of the slowest quarter of successful trials.
fn quarters(record: &Record, arm: &str) -> Option<(f64, f64)> {
    let trials = arm_trials(record, arm).filter(|trial| trial.succeeded());
    let values = trials.filter_map(|trial| trial.value(MetricId::SystemSeconds));
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let count = values.len();
    (count >= LEAST_TRIALS).then(|| (values[count / 8], values[count - 1 - count / 8]))
}
