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

/// Time of the monotonic clock, in nanoseconds: that in which BPF programs time.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// The time of the monotonic clock, and what lies between it and the time since 1970, in
/// nanoseconds: of some looks the one in which least came between.
#[must_use]
pub fn monotonic_and_offset() -> (u64, u64) {
    const LOOKS: usize = 5;
    let look = |_| {
        let before = monotonic_ns();
        let real = nanoseconds(since_1970());
        let after = monotonic_ns();
        let now = before.midpoint(after);
        (after - before, (now, real.saturating_sub(now)))
    };
    let closest = (0..LOOKS).map(look).min_by_key(|(between, _)| *between);
    closest.map_or((0, 0), |(_, pair)| pair)
}
