//! The process before and after, in windows of equal length.

use std::time::Duration;

use anyhow::Result;
use hugewise_experiment::run::compare::{FEWEST_WINDOWS, MetricWindows, windows};
use hugewise_experiment::run::metric::rates::RateMetric;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::stat::activity::{ActivityObserver, Rates};
use hugewise_observe::collapse::BeforeAfter;

use crate::exit;
use crate::interrupt::Interrupt;

/// Windows on each side.
const WINDOWS: u32 = 10;
const _: () = assert!(WINDOWS >= FEWEST_WINDOWS);

/// Time in the kernel is counted in ticks of 10 ms: a window must hold many of them.
const SHORTEST_WINDOW: Duration = Duration::from_millis(200);

/// The smallest difference of practical interest, as in `run`.
const THRESHOLD: f64 = 0.01;

/// What a metric is of a window.
fn value(metric: RateMetric, rates: &Rates) -> f64 {
    match metric {
        RateMetric::ProcessorUseRatio => rates.processor,
        RateMetric::SystemUseRatio => rates.system,
        RateMetric::MinorFaultsPerSecond => rates.minor_faults,
        RateMetric::MajorFaultsPerSecond => rates.major_faults,
        RateMetric::ResidentBytes => rates.resident_bytes,
    }
}

/// How it is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measurement {
    window: Duration,
}

/// The measurement of `--measure`.
pub(super) fn asked(side: Option<Duration>) -> Result<Option<Measurement>> {
    let Some(side) = side else {
        return Ok(None);
    };
    let window = side / WINDOWS;
    if window < SHORTEST_WINDOW {
        let least = (SHORTEST_WINDOW * WINDOWS).as_secs_f64();
        return Err(exit::usage(format!(
            "--measure {}s: {WINDOWS} windows need at least {least}s",
            side.as_secs_f64()
        )));
    }
    Ok(Some(Measurement { window }))
}

impl Measurement {
    /// Time on each side.
    pub(super) fn side(self) -> Duration {
        self.window * WINDOWS
    }

    /// Watches one side; fewer windows where the process ends or the user asks for the end.
    pub(super) fn watch(
        self,
        root: &Root,
        pid: u32,
        page_bytes: u64,
        stop: &Interrupt,
    ) -> Vec<Rates> {
        let mut rates = Vec::new();
        let Ok(mut activity) = ActivityObserver::begin(root, pid, page_bytes) else {
            return rates;
        };
        for _ in 0..WINDOWS {
            stop.wait(self.window.saturating_sub(activity.elapsed()));
            match activity.end_interval() {
                Ok(now) if !stop.asked() => rates.push(now),
                _ => break,
            }
        }
        rates
    }

    /// After against before.
    pub(super) fn compare(self, before: &[Rates], after: &[Rates]) -> BeforeAfter {
        let windows_of = |&metric: &RateMetric| {
            let column = |side: &[Rates]| side.iter().map(|rates| value(metric, rates)).collect();
            MetricWindows {
                metric: metric.to_string(),
                better: metric.metric().better,
                before: column(before),
                after: column(after),
            }
        };
        let samples: Vec<MetricWindows> = RateMetric::ALL.iter().map(windows_of).collect();
        BeforeAfter {
            windows: u32::try_from(before.len().min(after.len())).unwrap_or(u32::MAX),
            window_seconds: self.window.as_secs_f64(),
            comparisons: windows(&samples, THRESHOLD),
        }
    }
}
