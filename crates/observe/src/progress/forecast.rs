//! The present rate of growth, and the time until the target is reached.

use serde::{Deserialize, Serialize};

use hugewise_stats::ALPHA;
use hugewise_stats::growth::Growth;

use super::{FillState, FillTarget, ProgressInterval, Series, state};

/// A rate of growth with its 95 % interval, in bytes per second. The interval covers noise in the mean rate since the
/// last change, from eight batches of that time; it does not cover future changes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
pub struct Pace {
    /// The growth since the last change of the rate, divided by the time.
    pub bytes_per_second: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The time until the target is reached.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum TimeLeft {
    /// Known while the rate stays as it is since its last change.
    Known {
        /// The median of the simulated times, in seconds.
        seconds: f64,
        /// The lower end of their 95 % interval.
        low: f64,
        /// The upper end; null if growth may end before.
        high: Option<f64>,
    },
    /// Not known.
    Unknown {
        /// The reason.
        why: Unknown,
    },
}

impl Default for TimeLeft {
    fn default() -> Self {
        Self::Unknown {
            why: Unknown::TooEarly,
        }
    }
}

/// Why the time to the target is not known.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Unknown {
    /// There are too few readings.
    TooEarly,
    /// There is no target.
    NoTarget,
    /// The memory does not grow.
    NoGrowth,
    /// The rate has changed, and the time since then is too short.
    NotSteady {
        /// The rate before, in bytes per second.
        before: f64,
    },
    /// It takes free huge blocks, and they run out before the target. Then compaction or small pages change the rate.
    BlocksRunOut {
        /// Free memory in such blocks, in bytes.
        free_bytes: u64,
    },
}

/// Returns the rate since its last change; `None` with too few readings.
#[must_use]
pub fn pace(series: &Series) -> Option<Pace> {
    let rate = Growth::of(series.increments()).rate(ALPHA)?;
    Some(Pace {
        bytes_per_second: rate.per_second,
        low: rate.low,
        high: rate.high,
    })
}

/// Returns the time from now until the target is reached.
#[must_use]
pub fn forecast(series: &Series, target: Option<&FillTarget>, memory_bytes: u64) -> TimeLeft {
    let unknown = |why| TimeLeft::Unknown { why };
    let Some(target) = target else {
        return unknown(Unknown::NoTarget);
    };
    let left = target.left(memory_bytes);
    if left == 0 {
        return TimeLeft::Known {
            seconds: 0.0,
            low: 0.0,
            high: Some(0.0),
        };
    }
    let growth = Growth::of(series.increments());
    match (growth.time_to(left as f64, ALPHA), growth.before) {
        (Some(time), _) => TimeLeft::Known {
            seconds: time.seconds,
            low: time.low,
            high: time.high,
        },
        (None, Some(before)) if !growth.is_steady() => unknown(Unknown::NotSteady { before }),
        (None, _) if !growth.is_steady() => unknown(Unknown::TooEarly),
        (None, _) => unknown(Unknown::NoGrowth),
    }
}

/// Returns the forecast of an interval, unless the rate must change before its end: it takes free huge blocks, without
/// compaction, and they do not reach.
#[must_use]
pub fn while_blocks_last(forecast: TimeLeft, interval: &ProgressInterval) -> TimeLeft {
    let TimeLeft::Known { .. } = forecast else {
        return forecast;
    };
    match blocks_that_run_out(interval) {
        Some(free_bytes) => TimeLeft::Unknown {
            why: Unknown::BlocksRunOut { free_bytes },
        },
        None => forecast,
    }
}

fn blocks_that_run_out(interval: &ProgressInterval) -> Option<u64> {
    let free = interval.free_huge_bytes?;
    let left = interval.target?.left(interval.memory_bytes) as f64;
    let huge = left * interval.huge_share?;
    let is_easy = state(interval) != FillState::Compacting;
    (is_easy && huge > free as f64).then_some(free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::TargetSource;
    use std::time::Duration;

    const TARGET: FillTarget = FillTarget {
        bytes: 1 << 30,
        source: TargetSource::Asked,
    };

    /// Memory after each tenth of a second, by its growth in MiB.
    fn grown(steps: &[u64]) -> (Series, u64) {
        let mut series = Series::default();
        let mut bytes = 0;
        series.push(Duration::ZERO, bytes);
        for (at, step) in (1..).zip(steps) {
            bytes += step << 20;
            series.push(Duration::from_millis(100 * at), bytes);
        }
        (series, bytes)
    }

    #[test]
    fn steady_growth_has_a_forecast() {
        let (series, bytes) = grown(&[8; 16]);
        let TimeLeft::Known { seconds, low, high } = forecast(&series, Some(&TARGET), bytes) else {
            panic!("no forecast");
        };
        assert!((seconds - 11.2).abs() < 0.01, "{seconds}");
        assert!(low <= seconds && high.is_some_and(|high| seconds <= high));
        let pace = pace(&series).expect("a rate");
        assert!((pace.bytes_per_second - f64::from(80 << 20)).abs() < 1.0);
    }

    #[test]
    fn each_reason_for_no_forecast_has_its_word() {
        let why = |steps: &[u64], target: Option<&FillTarget>| {
            let (series, bytes) = grown(steps);
            match forecast(&series, target, bytes) {
                TimeLeft::Unknown { why } => why,
                known @ TimeLeft::Known { .. } => panic!("{known:?}"),
            }
        };
        assert_eq!(why(&[8; 16], None), Unknown::NoTarget);
        assert_eq!(why(&[8; 5], Some(&TARGET)), Unknown::TooEarly);
        assert_eq!(why(&[0; 16], Some(&TARGET)), Unknown::NoGrowth);
        let slowed = [[20; 16].as_slice(), &[1; 6]].concat();
        let Unknown::NotSteady { before } = why(&slowed, Some(&TARGET)) else {
            panic!("steady");
        };
        assert!(
            (before / f64::from(200 << 20) - 1.0).abs() < 0.01,
            "{before}"
        );
    }

    #[test]
    fn free_huge_blocks_that_run_out_leave_the_end_open() {
        let (series, bytes) = grown(&[8; 16]);
        let known = forecast(&series, Some(&TARGET), bytes);
        let of = |free_huge_bytes, huge_share, compaction| {
            let mut interval = ProgressInterval {
                memory_bytes: bytes,
                grown_bytes: 8 << 20,
                target: Some(TARGET),
                free_huge_bytes,
                huge_share,
                ..ProgressInterval::default()
            };
            interval.work.compaction = Some(compaction);
            while_blocks_last(known, &interval)
        };
        let few = 64 << 20;
        let open = TimeLeft::Unknown {
            why: Unknown::BlocksRunOut { free_bytes: few },
        };
        assert_eq!(of(Some(few), Some(1.0), 0.0), open);
        // With enough blocks, with small pages, or once it compacts, the rate may stay.
        for (free, huge, compaction) in [
            (Some(2 << 30), Some(1.0), 0.0),
            (Some(few), Some(0.01), 0.0),
            (Some(few), Some(1.0), 0.9),
            (None, Some(1.0), 0.0),
            (Some(few), None, 0.0),
        ] {
            assert_eq!(of(free, huge, compaction), known);
        }
    }

    #[test]
    fn a_reached_target_needs_no_time() {
        let (series, _) = grown(&[8; 16]);
        let TimeLeft::Known { seconds, .. } = forecast(&series, Some(&TARGET), 1 << 30) else {
            panic!("no forecast");
        };
        assert_eq!(seconds, 0.0);
    }
}
