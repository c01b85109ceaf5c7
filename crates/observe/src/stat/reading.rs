//! Values that the kernel counts. They need no hardware counters.

use hugewise_base::counter::{Counter, Place};
use hugewise_experiment::run::metric::metrics;

#[rustfmt::skip]
metrics! {
    /// The kernel values that `stat` reads in addition to its counters, see [`Counter`]. They have the names of the
    /// metrics of `run` if those exist.
    pub enum KernelReading in READINGS;
    MinorFaultsTotal "minor_faults_total" "minor faults" Count Lower Tree Always
        "faults served without I/O: /proc/PID/stat, memory.stat or /proc/vmstat";
    MajorFaultsTotal "major_faults_total" "major faults" Count Lower Tree WhenNonZero
        "faults that waited for I/O, from the same files";
    KhugepagedSeconds "khugepaged_seconds" "khugepaged" Seconds Lower Machine WhenNonZero
        "processor time of the kernel thread: /proc/PID/schedstat";
    HugeRatio "huge_ratio" "huge memory" Ratio Neither Tree Always
        "share of the memory below that PMDs map: smaps_rollup, memory.stat or meminfo";
    RssBytes "rss_bytes" "resident" Bytes Lower Tree Always
        "resident memory: smaps_rollup or meminfo";
    AnonBytes "anon_bytes" "anonymous memory" Bytes Neither Group Always
        "anonymous memory of a cgroup: memory.stat";
    FreeHugePagesTotal "free_huge_pages_total" "free huge blocks" Count Higher Machine Always
        "free memory in blocks of at least a huge page: /proc/buddyinfo";
}

impl KernelReading {
    /// The privilege or capability needed to read the value.
    #[must_use]
    pub fn needs(self) -> &'static str {
        match self {
            Self::HugeRatio | Self::RssBytes => "the same user, or CAP_SYS_PTRACE",
            Self::FreeHugePagesTotal => "root on systems that hide /proc/buddyinfo",
            Self::KhugepagedSeconds => "the first process namespace",
            _ => "nothing",
        }
    }
}

/// Returns true if a kernel reading has this name.
#[must_use]
pub fn is_reading(name: &str) -> bool {
    let mut counters = Counter::at(Place::Stat);
    name.parse::<KernelReading>().is_ok() || counters.any(|counter| counter.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_experiment::run::metric::MetricId;

    #[test]
    fn what_run_measures_too_is_the_same() {
        for one in READINGS {
            let Ok(id) = one.name.parse::<MetricId>() else {
                continue;
            };
            let known = id.metric();
            assert_eq!(
                (&one.label, &one.unit, one.better),
                (&known.label, &known.unit, known.better),
                "{id}"
            );
        }
    }
}
