//! Mean changes of the time of a run and of its parts.

use serde::Serialize;

use super::super::paired::PairedRounds;
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::trial::{Mark, Trial};

/// Waits for a lock may be inside page faults; with a larger share, the rest cannot be called CPU time.
const NEGLIGIBLE: f64 = 0.1;

/// Parts of kernel time that may be timed.
const CAUSES: [MetricId; 5] = [
    MetricId::DirectCompactionSeconds,
    MetricId::DirectReclaimSeconds,
    MetricId::CgroupReclaimSeconds,
    MetricId::ZeroingSeconds,
    MetricId::SplitSeconds,
];

/// Mean changes per run over the rounds in which both arms succeeded, in seconds; negative means saved.
///
/// `user`, the timed causes, `other_faults`, `other_kernel` and `off_cpu` add up to `wall`. A cause is `None` if it was
/// not timed; it is then part of `other_kernel`.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Seconds {
    /// Wall time: the whole.
    pub wall: f64,
    /// User mode.
    pub user: f64,
    /// Kernel mode, with all its parts.
    pub system: f64,
    /// Direct compaction.
    pub compaction: Option<f64>,
    /// Direct reclaim.
    pub reclaim: Option<f64>,
    /// Reclaim at the limit of a cgroup.
    pub cgroup_reclaim: Option<f64>,
    /// Zeroing of huge pages.
    pub zeroing: Option<f64>,
    /// Splits of huge pages.
    pub splits: Option<f64>,
    /// Page faults without the causes above; `None` if they are part of `other_kernel`.
    pub other_faults: Option<f64>,
    /// The rest of kernel time.
    pub other_kernel: f64,
    /// Time outside user mode and kernel. If threads run in parallel, it is too low by their overlap.
    pub off_cpu: f64,
    /// Copy-on-write, already contained in page faults: not added.
    pub copy_on_write: Option<f64>,
    /// Waits for `mmap_lock`, summed over threads: not added.
    pub lock_waits: Option<f64>,
    /// Trials in which other programs used the processors, so that off-CPU time includes waits for them.
    pub contended_trials: usize,
    /// All trials of these rounds.
    pub trials: usize,
}

/// Returns the parts of the mean change; `None` if wall, user or kernel time is unknown.
#[must_use]
pub fn seconds(record: &Record, baseline: &str, arm: &str) -> Option<Seconds> {
    Seconds::of(&PairedRounds::of(record, baseline, arm))
}

impl Seconds {
    fn of(pairs: &PairedRounds<'_>) -> Option<Self> {
        let times = pairs.times()?;
        let causes = CAUSES.map(|cause| pairs.change(cause));
        let timed = CAUSES.into_iter().zip(causes);
        let timed = timed.filter_map(|(cause, change)| change.map(|_| cause));
        let timed: Vec<MetricId> = timed.collect();
        let hold = pairs.trials().all(|trial| faults_hold(trial, &timed));
        let faults = pairs.change(MetricId::PageFaultSeconds).filter(|_| hold);
        let caused: f64 = causes.iter().flatten().sum();
        let [compaction, reclaim, cgroup_reclaim, zeroing, splits] = causes;
        Some(Self {
            wall: times.wall,
            user: times.user,
            system: times.system,
            compaction,
            reclaim,
            cgroup_reclaim,
            zeroing,
            splits,
            other_faults: faults.map(|faults| faults - caused),
            other_kernel: times.system - faults.unwrap_or(caused),
            off_cpu: times.wall - times.user - times.system,
            copy_on_write: pairs.change(MetricId::CopyOnWriteSeconds),
            lock_waits: pairs.change(MetricId::MmapLockWaitSeconds),
            contended_trials: pairs.trials().filter(|trial| is_contended(trial)).count(),
            trials: pairs.trials().count(),
        })
    }

    fn stalls(&self) -> [Option<f64>; 3] {
        [self.compaction, self.reclaim, self.cgroup_reclaim]
    }

    /// Returns the number of causes of kernel time that could not be timed, of five.
    #[must_use]
    pub fn untimed_causes(&self) -> usize {
        let stalls = self.stalls().into_iter();
        let causes = stalls.chain([self.zeroing, self.splits]);
        causes.filter(Option::is_none).count()
    }

    /// Returns true if any part of the kernel was timed.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.other_faults.is_some() || self.untimed_causes() < CAUSES.len()
    }

    /// Returns the change of compaction and reclaim.
    pub(super) fn stalled(&self) -> f64 {
        self.stalls().iter().flatten().sum()
    }
}

/// Returns true if the causes of a trial can have been inside its page faults: they took no longer.
///
/// Otherwise some were in system calls, to an unknown extent. The same applies after long waits for a lock.
fn faults_hold(trial: &Trial, causes: &[MetricId]) -> bool {
    let seconds = causes.iter().filter_map(|cause| trial.value(*cause));
    let seconds: f64 = seconds.sum();
    let waited = trial.value(MetricId::MmapLockWaitSeconds).unwrap_or(0.0);
    let faults = trial.value(MetricId::PageFaultSeconds);
    faults.is_some_and(|faults| seconds <= faults && waited <= NEGLIGIBLE * faults)
}

/// Returns true if other programs used the processors: a sleeping thread then looks like a waiting one.
fn is_contended(trial: &Trial) -> bool {
    trial.marks.iter().any(|mark| {
        matches!(
            mark,
            Mark::OtherLoad { .. } | Mark::OtherServers { .. } | Mark::Steal { .. }
        )
    })
}
