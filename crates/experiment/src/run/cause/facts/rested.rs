//! Runs after idle: the worth of a gain on warm memory for a program with pauses between its runs.

use serde::Serialize;

use super::super::paired::PairedRounds;
use super::host_memory::{first_touch, huge_bytes};
use crate::run::compare::medians::Medians;
use crate::run::metric::MetricId;
use crate::run::plan::HostMemory;
use crate::run::record::Record;
use crate::run::stats::shift::{Shift, unpaired};
use crate::run::stats::{ALPHA, median};

/// Runs after idle under an arm, beside those under the baseline.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Rested {
    /// They were measured. Shares of the baseline's median: 0.1 is 10 % longer.
    Measured {
        /// How much longer a run takes.
        estimate: f64,
        /// Lower end of the 95 % interval.
        low: f64,
        /// Upper end of the interval.
        high: f64,
        /// Runs of the one that has fewer.
        runs: u64,
    },
    /// There are too few for an interval, which needs four of each.
    TooFew {
        /// Runs of the one that has fewer.
        runs: u64,
    },
    /// No run was measured; the first touches give an expectation.
    Unmeasured {
        /// How much longer it takes to touch the huge pages, in seconds.
        expected_seconds: f64,
        /// Seconds that they save on warm memory, by the mean over rounds.
        saved_seconds: f64,
    },
}

impl Rested {
    /// Returns true when a run after idle was shown to take longer.
    #[must_use]
    pub fn is_longer(&self) -> bool {
        matches!(self, Self::Measured { low, .. } if *low > 0.0)
    }

    /// Returns true when a run after idle was shown to take less.
    #[must_use]
    pub fn is_shorter(&self) -> bool {
        matches!(self, Self::Measured { high, .. } if *high < 0.0)
    }

    /// Returns true when an arm is for back-to-back runs alone: a run after idle takes longer, may take longer, or is
    /// expected to. Small pages are cold then too, and pay a part.
    #[must_use]
    pub fn is_for_back_to_back_runs(&self) -> bool {
        match *self {
            Self::Measured { .. } => !self.is_shorter(),
            Self::TooFew { .. } => false,
            Self::Unmeasured {
                expected_seconds,
                saved_seconds,
            } => saved_seconds > 0.0 && expected_seconds > saved_seconds,
        }
    }
}

/// Returns `None` on bare metal, for a service, and when memory was not warmed before trials.
#[must_use]
pub fn rested(record: &Record, baseline: &str, arm: &str) -> Option<Rested> {
    let plan = &record.header.plan;
    // A load meets a server that started long ago.
    let is_asked = plan.host_memory == HostMemory::Warm && plan.service.is_none();
    let huge_bytes = huge_bytes(record, &Medians::of(record), arm).filter(|_| is_asked)?;
    let walls = [baseline, arm].map(|arm| record.rested_walls(arm));
    if arm != baseline && walls.iter().all(|walls| !walls.is_empty()) {
        return Some(measured(&walls));
    }
    let price = first_touch(record)?;
    let pages = huge_bytes / record.header.host.pmd_bytes()? as f64;
    let rounds = PairedRounds::of(record, baseline, arm);
    Some(Rested::Unmeasured {
        expected_seconds: pages * (price.cold_seconds - price.warm_seconds),
        saved_seconds: rounds.change(MetricId::WallSeconds).map_or(0.0, |it| -it),
    })
}

/// Returns the shift of all runs, cold or not: the few pages that are touched before a trial were freed last, and tell
/// little about the rest.
fn measured([baseline, arm]: &[Vec<f64>; 2]) -> Rested {
    let runs = arm.len().min(baseline.len()) as u64;
    let shift = || {
        let Shift {
            estimate, interval, ..
        } = unpaired(baseline, arm, ALPHA)?;
        let ((low, high), usual) = interval.zip(median(baseline))?;
        Some([estimate, low, high].map(|seconds| seconds / usual))
    };
    match shift() {
        None => Rested::TooFew { runs },
        Some([estimate, low, high]) => Rested::Measured {
            estimate,
            low,
            high,
            runs,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_runs_of_each_have_an_interval() {
        let [low, high] = [[1.0, 1.1, 1.2, 1.3], [1.5, 1.6, 1.7, 1.8]].map(Vec::from);
        let more = measured(&[low.clone(), high.clone()]);
        let Rested::Measured {
            estimate,
            low: end,
            runs,
            ..
        } = more
        else {
            panic!("{more:?}");
        };
        assert!(more.is_longer() && more.is_for_back_to_back_runs());
        assert!((estimate - 0.5 / 1.15).abs() < 1e-9 && (end - 0.2 / 1.15).abs() < 1e-9);
        assert_eq!(runs, 4);
        let less = measured(&[high.clone(), low]);
        assert!(less.is_shorter() && !less.is_for_back_to_back_runs());
        let open = measured(&[high.clone(), vec![1.0, 1.7, 1.2, 1.4]]);
        assert!(!open.is_longer() && !open.is_shorter() && open.is_for_back_to_back_runs());
        assert_eq!(
            measured(&[high.clone(), high[..3].to_vec()]),
            Rested::TooFew { runs: 3 }
        );
    }
}
