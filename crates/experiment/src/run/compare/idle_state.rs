//! The state of the host memory under a run after idle, inferred from the run's cost: cold if the host had taken it
//! back.
//!
//! Whether a pause makes memory cold depends on the hypervisor and the rest of the machine. A probe before the run
//! would warm the memory that it touches. So the run itself is the evidence. Each huge page whose first touch is cold
//! costs system time, and the touches before the rounds' trials give the price.

use crate::base::missing::Missing;
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::{Role, Trial};

/// A run is cold if it paid for at least this part of its memory as cold pages.
const COLD_PART: f64 = 0.25;

/// The state of the host memory under a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostState {
    /// At least a quarter of its memory was cold.
    Cold,
    /// Less than a quarter was cold.
    Warm,
}

/// The wall times of the runs of a policy after idle, by the state of the host memory, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdleStates {
    /// Runs on cold memory.
    pub cold: Vec<f64>,
    /// Runs on warm memory.
    pub warm: Vec<f64>,
}

impl IdleStates {
    /// Returns true if there are runs of both kinds, so that one row would mix two states.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        !self.cold.is_empty() && !self.warm.is_empty()
    }
}

/// Sorts the runs of a policy after idle by the state of the host memory.
///
/// # Errors
/// Fails with the reason why it is unknown: no touch before a trial was cold, so cold memory has no price; or a reading
/// is missing.
pub fn idle_states(record: &Record, policy: &str) -> Result<IdleStates, Missing> {
    let price = Price::of(record, policy)?;
    let mut states = IdleStates::default();
    let runs = record.cold.iter();
    for trial in runs.filter(|it| it.policy == policy && it.succeeded()) {
        let Some(wall) = trial.value(MetricId::WallSeconds) else {
            continue;
        };
        match price.state(trial) {
            Some(HostState::Cold) => states.cold.push(wall),
            Some(HostState::Warm) => states.warm.push(wall),
            None => return Err(Missing::NotAsked),
        }
    }
    Ok(states)
}

/// The cost of cold memory for a trial of a policy.
struct Price {
    /// System time of a trial on warm memory, in seconds.
    warm_seconds: f64,
    /// The extra cost of the first touch of a cold huge page over that of a warm one.
    page_seconds: f64,
    page_bytes: f64,
}

impl Price {
    fn of(record: &Record, policy: &str) -> Result<Self, Missing> {
        let touches = record
            .trials
            .iter()
            .filter_map(|it| it.first_touch.as_ref());
        let prices = touches.filter_map(|it| Some(it.cold_touch_seconds? - it.warm_touch_seconds?));
        let own = record.trials.iter();
        let own = own.filter(|it| it.role == Role::Arm && it.policy == policy && it.succeeded());
        // Warming happens outside the trial, so the trial itself is warm.
        let system = own.filter_map(|it| it.value(MetricId::SystemSeconds));
        let page_bytes = record.header.host.pmd_bytes().ok_or(Missing::NotAsked)?;
        Ok(Self {
            page_seconds: median(&prices.collect::<Vec<_>>()).ok_or(Missing::NotAsked)?,
            warm_seconds: median(&system.collect::<Vec<_>>()).ok_or(Missing::NotAsked)?,
            page_bytes: page_bytes as f64,
        })
    }

    fn state(&self, trial: &Trial) -> Option<HostState> {
        let system = trial.value(MetricId::SystemSeconds)?;
        let pages = trial.value(MetricId::PeakRssBytes)? / self.page_bytes;
        let cold = (system - self.warm_seconds) / self.page_seconds;
        Some(match cold >= COLD_PART * pages {
            true => HostState::Cold,
            false => HostState::Warm,
        })
    }
}
