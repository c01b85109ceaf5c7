//! The share of page-walk cycles in an observed time.

use serde::{Deserialize, Serialize};

use super::{Count, Hardware, Interval, Mode, Tally, WalkCycles, summary};
use hugewise_base::missing::Missing;

/// The share of cycles with an active page walk. No page size saves more than this through cheaper translation.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WalkShare {
    /// Upper bound of the share, from 0 to 1. Walks for loads, stores and code can overlap, and the core computes
    /// during a walk.
    pub at_most: f64,
    /// Lower bound of the share, if the events show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// The processor modes that were counted.
    pub mode: Mode,
    /// The counting time, in seconds.
    pub seconds: f64,
    /// The underlying counts, each with the running time of its counter.
    pub counts: Vec<Count>,
}

impl WalkShare {
    /// Computes the share for one interval.
    ///
    /// # Errors
    /// Returns why the share is unknown.
    pub fn of(hardware: &Hardware, interval: &Interval) -> Result<Self, Missing> {
        let (mode, walk_cycles) = match hardware {
            Hardware::Missing { missing } => return Err(missing.clone()),
            Hardware::Counting {
                mode, walk_cycles, ..
            } => (*mode, *walk_cycles),
        };
        if never_ran(&interval.counts) {
            return Err(Missing::unreadable("it did not run while it was watched"));
        }
        let share = |name| summary::value(interval.derived.get(name));
        let at_most = share("walk_cycles_at_most_ratio")?;
        walk_cycles.bound()?;
        Ok(Self {
            at_most,
            at_least: share("walk_cycles_at_least_ratio").ok(),
            mode,
            seconds: interval.end_ns.saturating_sub(interval.start_ns) as f64 / 1e9,
            counts: interval.counts.clone(),
        })
    }
}

/// Returns true if the counters of a scheduled group were never enabled, because their target slept.
fn never_ran(counts: &[Count]) -> bool {
    let slept = |count: &Count| match count.tally {
        Tally::Counted { enabled_ns, .. } => enabled_ns == 0,
        Tally::Missing { ref missing } => *missing == Missing::NotItsTurn,
    };
    !counts.is_empty() && counts.iter().all(slept)
}

impl WalkCycles {
    /// Checks that the count is an upper bound of the savings from cheaper walks.
    ///
    /// # Errors
    /// Fails if only part of each walk was counted.
    pub fn bound(self) -> Result<(), Missing> {
        match self {
            Self::Whole => Ok(()),
            Self::WithoutNested => Err(Missing::not_supported(
                "an event for walk cycles that holds in a virtual machine",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{derive, sample};
    use super::*;

    /// In the sample, load walks are active in 8 % of the cycles of their group, store walks in 1 %, and code walks in
    /// 1 % of the cycles of another group.
    #[test]
    fn it_is_what_stat_says_of_the_same_interval() {
        let (header, interval) = (sample::header(), sample::interval(0));
        let share = WalkShare::of(&header.hardware, &interval).unwrap();
        assert!((share.at_most - 0.10).abs() < 1e-12, "{share:?}");
        assert_eq!(share.at_least, Some(0.08));
        assert_eq!((share.mode, share.seconds), (Mode::UserAndKernel, 1.0));
        assert_eq!(share.counts, interval.counts);
    }

    #[test]
    fn a_part_of_a_walk_bounds_nothing() {
        let mut hardware = sample::header().hardware;
        if let Hardware::Counting { walk_cycles, .. } = &mut hardware {
            *walk_cycles = WalkCycles::WithoutNested;
        }
        let why = WalkShare::of(&hardware, &sample::interval(0)).unwrap_err();
        assert!(why.to_string().contains("in a virtual machine"), "{why}");
    }

    #[test]
    fn each_absence_has_its_own_reason() {
        let hardware = sample::header().hardware;
        let none = Hardware::Missing {
            missing: Missing::NoHardware,
        };
        let interval = sample::interval(0);
        assert_eq!(WalkShare::of(&none, &interval), Err(Missing::NoHardware));
        let with = |tally: &Tally| {
            let mut interval = interval.clone();
            for count in &mut interval.counts {
                count.tally = tally.clone();
            }
            interval.derived = derive(&interval.counts, None);
            WalkShare::of(&hardware, &interval).unwrap_err()
        };
        let ran = |enabled_ns| Tally::Counted {
            value: 0,
            enabled_ns,
            running_ns: 0,
        };
        assert!(with(&ran(0)).to_string().contains("it did not run"));
        assert_eq!(with(&ran(9)), Missing::NeverScheduled);
        let waiting = Tally::Missing {
            missing: Missing::TooShort,
        };
        assert_eq!(with(&waiting), Missing::TooShort);
    }
}
