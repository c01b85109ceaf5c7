use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time since 1970 (UTC); nothing on a machine whose clock stands before that.
#[must_use]
pub fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Milliseconds since 1970 (UTC).
#[must_use]
pub fn unix_ms() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

/// A duration in nanoseconds; the largest number where it is longer (584 years).
#[must_use]
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Processor time that this process has used so far, in nanoseconds.
#[must_use]
pub fn own_cpu_ns() -> u64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(used.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(used.tv_nsec).unwrap_or(0)
}
