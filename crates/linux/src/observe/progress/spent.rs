//! The time that a process spent, by kind of work.

use std::time::Duration;

use hugewise_observe::progress::{Attempts, Work};

use crate::proc::pid_stat::ResourceUsage;
use crate::proc::stat::seconds_of_ticks;

/// Time by kind of work, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    pub(super) wall: f64,
    pub(super) user: f64,
    pub(super) kernel: f64,
    /// Summed over all threads; `None` if it could not be traced, like the next two.
    pub(super) compaction: Option<f64>,
    pub(super) reclaim: Option<f64>,
    pub(super) limit_reclaim: Option<f64>,
    pub(super) attempts: Option<Attempts>,
    pub(super) readings: Readings,
}

/// Readings of a process between two intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Readings {
    /// All.
    pub(super) all: u32,
    /// Those in which it was active.
    pub(super) active: u32,
}

impl Spent {
    pub(super) fn of(wall: Duration, used: ResourceUsage) -> Self {
        Self {
            wall: wall.as_secs_f64(),
            user: seconds_of_ticks(used.user_ticks),
            kernel: seconds_of_ticks(used.system_ticks),
            ..Self::default()
        }
    }

    /// Adds a later interval.
    pub(super) fn add(&mut self, later: &Self) {
        self.wall += later.wall;
        self.user += later.user;
        self.kernel += later.kernel;
        self.readings.all += later.readings.all;
        self.readings.active += later.readings.active;
        for (sum, more) in [
            (&mut self.compaction, later.compaction),
            (&mut self.reclaim, later.reclaim),
            (&mut self.limit_reclaim, later.limit_reclaim),
        ] {
            if let Some(more) = more {
                *sum.get_or_insert_default() += more;
            }
        }
        if let Some(more) = later.attempts {
            let sum = self.attempts.get_or_insert_default();
            sum.all += more.all;
            sum.huge += more.huge;
        }
    }

    /// Shares of the whole: of the wall time, or of the processor time or the stalls of all threads if these are longer.
    pub(super) fn work(&self) -> Work {
        let stalls = [self.compaction, self.reclaim, self.limit_reclaim];
        let stalled: f64 = stalls.into_iter().flatten().sum();
        let whole = self.wall.max(self.user + self.kernel).max(stalled);
        let share = |seconds: f64| if whole > 0.0 { seconds / whole } else { 0.0 };
        let [compaction, reclaim, limit_reclaim] = stalls.map(|stall| stall.map(share));
        Work {
            compaction,
            reclaim,
            limit_reclaim,
            user: share(self.user),
            kernel: share(self.kernel),
            active: f64::from(self.readings.active) / f64::from(self.readings.all.max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_longest_time() {
        let spent = Spent {
            wall: 1.0,
            user: 0.5,
            kernel: 3.5,
            compaction: Some(2.0),
            reclaim: Some(0.0),
            ..Spent::default()
        };
        let work = spent.work();
        assert_eq!((work.compaction, work.kernel), (Some(0.5), 0.875));
        assert_eq!((work.reclaim, work.limit_reclaim), (Some(0.0), None));
        assert_eq!(Spent::default().work(), Work::default());
    }

    #[test]
    fn intervals_add_up_and_what_is_missing_stays_missing() {
        let one = Spent {
            wall: 1.0,
            compaction: Some(0.25),
            attempts: Some(Attempts { all: 3, huge: 2 }),
            readings: Readings { all: 4, active: 1 },
            ..Spent::default()
        };
        let mut sum = one;
        sum.add(&one);
        assert_eq!((sum.compaction, sum.reclaim), (Some(0.5), None));
        assert_eq!(sum.attempts, Some(Attempts { all: 6, huge: 4 }));
        assert_eq!(sum.work().compaction, Some(0.25));
        assert_eq!(sum.work().active, 0.25);
    }
}
