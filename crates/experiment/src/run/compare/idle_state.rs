//! The host memory that a run after idle met, proved by what it paid: cold where the host had taken it back.
//!
//! A rest makes memory cold or not, as the hypervisor and the rest of the machine have it, and a probe before the run
//! would warm what it looks at. So the run itself is the proof: each huge page whose first touch is cold costs system time, of
//! which the touches before the rounds' trials give the price.

use crate::base::missing::Missing;
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::{Role, Trial};

/// A run is cold that paid for cold pages as many as this part of its memory has.
const COLD_PART: f64 = 0.25;

/// The host memory that a run met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostState {
    /// A quarter of its memory or more was cold.
    Cold,
    /// Less was.
    Warm,
}

/// The walls of the runs of a policy after idle by the host memory that they met, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdleStates {
    /// Runs that met cold memory.
    pub cold: Vec<f64>,
    /// Runs that met warm memory.
    pub warm: Vec<f64>,
}

impl IdleStates {
    /// Returns true if runs met both, so that one row would mix two states.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        !self.cold.is_empty() && !self.warm.is_empty()
    }
}

/// Sorts the runs of a policy after idle by the host memory that they met.
///
/// # Errors
/// Why it is not known: no touch before a trial was cold, so that cold memory has no price; or a reading is missing.
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

/// What cold memory costs a trial of a policy.
struct Price {
    /// System time of a trial on warm memory, in seconds.
    warm_seconds: f64,
    /// What the first touch of a cold huge page costs beyond that of a warm one.
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
        // The price that warming pays is not in the trial, so its own trials are warm.
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
