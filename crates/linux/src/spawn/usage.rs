use serde::{Deserialize, Serialize};

/// Resource usage of processes, from wait4(2) and getrusage(2).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Usage {
    /// User mode time, in nanoseconds.
    pub user_ns: u64,
    /// Kernel mode time, in nanoseconds.
    pub system_ns: u64,
    /// Faults served without I/O.
    pub minor_faults: u64,
    /// Faults with I/O.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// The largest resident set among the processes, in bytes.
    pub peak_rss_bytes: u64,
}

impl Usage {
    /// Converts the kernel's structure.
    pub(super) fn of(raw: &libc::rusage) -> Self {
        let count = |number: libc::c_long| u64::try_from(number).unwrap_or(0);
        let time = |time: libc::timeval| {
            u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
                + u64::try_from(time.tv_usec).unwrap_or(0) * 1000
        };
        Self {
            user_ns: time(raw.ru_utime),
            system_ns: time(raw.ru_stime),
            minor_faults: count(raw.ru_minflt),
            major_faults: count(raw.ru_majflt),
            voluntary_switches: count(raw.ru_nvcsw),
            involuntary_switches: count(raw.ru_nivcsw),
            peak_rss_bytes: count(raw.ru_maxrss).saturating_mul(1024),
        }
    }

    /// Adds the sums, and takes the larger peak.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            peak_rss_bytes: self.peak_rss_bytes.max(other.peak_rss_bytes),
            ..self.each(other, u64::saturating_add)
        }
    }

    /// Returns the usage since `base`; the peak is unchanged, because peaks cannot be subtracted.
    #[must_use]
    pub fn since(self, base: Self) -> Self {
        self.each(base, u64::saturating_sub)
    }

    fn each(self, other: Self, f: fn(u64, u64) -> u64) -> Self {
        Self {
            user_ns: f(self.user_ns, other.user_ns),
            system_ns: f(self.system_ns, other.system_ns),
            minor_faults: f(self.minor_faults, other.minor_faults),
            major_faults: f(self.major_faults, other.major_faults),
            voluntary_switches: f(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: f(self.involuntary_switches, other.involuntary_switches),
            peak_rss_bytes: self.peak_rss_bytes,
        }
    }

    /// Returns user and kernel mode time together, in nanoseconds.
    #[must_use]
    pub fn cpu_ns(self) -> u64 {
        self.user_ns + self.system_ns
    }
}
