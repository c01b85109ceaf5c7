//! Resource usage of one thread, as the kernel counts it.

use std::time::Duration;

/// Faults and kernel time of one thread so far, or between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Page faults, minor and major, including those inside `MADV_POPULATE` and `MAP_POPULATE` (`mm_account_fault`,
    /// mm/memory.c).
    pub(crate) faults: u64,
    /// Time in the kernel.
    pub(crate) system: Duration,
}

impl Usage {
    /// The usage of the calling thread since it began.
    #[inline(never)]
    pub(crate) fn now() -> Self {
        // SAFETY: rusage is a plain structure of integers, for which zeroes are valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is a valid place for the answer.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        let part = |number: i64| u64::try_from(number).unwrap_or(0);
        Self {
            faults: part(usage.ru_minflt) + part(usage.ru_majflt),
            system: Duration::from_secs(part(usage.ru_stime.tv_sec))
                + Duration::from_micros(part(usage.ru_stime.tv_usec)),
        }
    }

    /// The usage since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            faults: self.faults.saturating_sub(earlier.faults),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}
